//! Column naming: how an official field name becomes the name of a column.
//! Formats whose names users know by heart (iRacing's variables) keep them and
//! do not come through here.

/// Respells an official name in snake_case; a run of capitals is one word
/// (`m_worldPositionX` → `world_position_x`, `lastLapTimeInMS` →
/// `last_lap_time_in_ms`, `ERSAssist` → `ers_assist`). Digits belong to the
/// word before them.
pub fn snake_case(official: &str) -> String {
    let name = official.strip_prefix("m_").unwrap_or(official);
    let characters: Vec<char> = name.chars().collect();
    let mut respelled = String::with_capacity(name.len() + 8);
    for (position, &character) in characters.iter().enumerate() {
        if !character.is_alphanumeric() {
            respelled.push('_');
            continue;
        }
        let previous = position.checked_sub(1).map(|before| characters[before]);
        let next = characters.get(position + 1);
        let word_starts = character.is_uppercase()
            && previous.is_some_and(|previous| {
                previous.is_lowercase()
                    || previous.is_numeric()
                    || (previous.is_uppercase() && next.is_some_and(|next| next.is_lowercase()))
            });
        if word_starts {
            respelled.push('_');
        }
        respelled.extend(character.to_lowercase());
    }
    respelled
}

#[cfg(test)]
mod tests {
    use super::snake_case;

    #[test]
    fn official_names_become_columns() {
        for (official, column) in [
            ("m_worldPositionX", "world_position_x"),
            ("engineRPM", "engine_rpm"),
            ("lastLapTimeInMS", "last_lap_time_in_ms"),
            ("ERSAssist", "ers_assist"),
            ("sector1TimeMSPart", "sector1_time_ms_part"),
            ("sector2LapDistanceStart", "sector2_lap_distance_start"),
            ("heightOfCOGAboveGround", "height_of_cog_above_ground"),
            ("timeTrialPBCarIdx", "time_trial_pb_car_idx"),
            ("ersHarvestedThisLapMGUK", "ers_harvested_this_lap_mguk"),
            ("engineMGUHWear", "engine_mguh_wear"),
            ("gForceLateral", "g_force_lateral"),
            ("vehicle1Idx", "vehicle1_idx"),
            ("sessionUID", "session_uid"),
            ("MotionEx", "motion_ex"),
            ("drs", "drs"),
        ] {
            assert_eq!(snake_case(official), column);
        }
    }
}
