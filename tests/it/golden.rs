//! Values decoded from bytes that were written down by hand, byte by byte from
//! the game's official tables, with no help from the layout files.

use crate::support::{Workplace, hex, pcap_of};

/// The 29 bytes before every packet of format 2025, player in car 7.
fn header(packet_id: u8) -> Vec<u8> {
    let mut bytes = hex(
        "e907 19 01 12 01", // format 2025, game year 25, version 1.18, packet version
    );
    bytes.push(packet_id);
    bytes.extend(hex(
        "efcdab8967452301  \
         0000c03f          \
         39300000          \
         a0860100          \
         07 ff",
        // session 0x0123456789abcdef, 1.5 s, frame 12345, overall 100000
    ));
    bytes
}

/// A packet of an array of 22 cars that is zero but for car 7.
fn with_car_7(packet_id: u8, car: &str, length: usize) -> Vec<u8> {
    let car = hex(car);
    let mut bytes = header(packet_id);
    bytes.resize(length, 0);
    let start = 29 + 7 * car.len();
    bytes[start..start + car.len()].copy_from_slice(&car);
    bytes
}

fn convert(payloads: &[Vec<u8>]) -> Workplace {
    let place = Workplace::new();
    place.write("hand.pcap", pcap_of(payloads));
    place.succeed(&["convert", "hand.pcap", "-o", "out", "-f", "csv", "--labels"]);
    place
}

fn assert_row(place: &Workplace, table: &str, row: usize, expected: &[(&str, &str)]) {
    let table = place.table(table);
    for (column, value) in expected {
        assert_eq!(table.cell(row, column), *value, "{column}");
    }
}

#[test]
fn header_becomes_keys() {
    let place = convert(&[with_car_7(6, &"00".repeat(60), 1_352)]);
    let table = place.table("car_telemetry");
    assert_eq!(table.rows.len(), 22);
    assert_eq!(
        table.columns[..8],
        [
            "capture_time",
            "session_uid",
            "session_time",
            "frame_identifier",
            "overall_frame_identifier",
            "player_car_index",
            "secondary_player_car_index",
            "car_index",
        ]
    );
    assert_eq!(
        table.rows[21][..8],
        [
            "2023-11-14T22:13:20.000000000Z",
            "81985529216486895",
            "1.5",
            "12345",
            "100000",
            "7",
            "255",
            "21",
        ]
    );
}

#[test]
fn hidden_header_fields_are_there_when_asked_for() {
    let place = Workplace::new();
    place.write(
        "hand.pcap",
        pcap_of(&[with_car_7(6, &"00".repeat(60), 1_352)]),
    );
    let columns = "packet_format,game_year,game_major_version,game_minor_version,packet_id";
    let mut arguments = vec!["convert", "hand.pcap", "-o", "out", "-f", "csv"];
    arguments.extend(["--columns", columns]);
    place.succeed(&arguments);
    assert_row(
        &place,
        "car_telemetry",
        0,
        &[
            ("packet_format", "2025"),
            ("game_year", "25"),
            ("game_major_version", "1"),
            ("game_minor_version", "18"),
            ("packet_id", "6"),
        ],
    );
}

#[test]
fn lap_data() {
    let car = "0b600100 6eb20000 fb6e 01 f401 02 2003 00 e015 03 \
               000048c1 0018b845 0000803e \
               08 0c 01 02 01 01 05 03 02 01 00 14 04 02 01 \
               0852 6009 01 00a0a543 0b";
    let mut packet = with_car_7(2, car, 1_285);
    packet[1_283..].copy_from_slice(&[5, 255]);
    assert_row(
        &convert(&[packet]),
        "lap_data",
        7,
        &[
            ("car_index", "7"),
            ("last_lap_time_in_ms", "90123"),
            ("current_lap_time_in_ms", "45678"),
            ("sector1_time_ms_part", "28411"),
            ("sector1_time_minutes_part", "1"),
            ("sector2_time_ms_part", "500"),
            ("sector2_time_minutes_part", "2"),
            ("delta_to_car_in_front_ms_part", "800"),
            ("delta_to_car_in_front_minutes_part", "0"),
            ("delta_to_race_leader_ms_part", "5600"),
            ("delta_to_race_leader_minutes_part", "3"),
            ("lap_distance", "-12.5"),
            ("total_distance", "5891.0"),
            ("safety_car_delta", "0.25"),
            ("car_position", "8"),
            ("current_lap_num", "12"),
            ("pit_status", "1"),
            ("pit_status_name", "pitting"),
            ("num_pit_stops", "2"),
            ("sector", "1"),
            ("sector_name", "sector 2"),
            ("current_lap_invalid", "1"),
            ("penalties", "5"),
            ("total_warnings", "3"),
            ("corner_cutting_warnings", "2"),
            ("num_unserved_drive_through_pens", "1"),
            ("num_unserved_stop_go_pens", "0"),
            ("grid_position", "20"),
            ("driver_status", "4"),
            ("driver_status_name", "on track"),
            ("result_status", "2"),
            ("result_status_name", "active"),
            ("pit_lane_timer_active", "1"),
            ("pit_lane_time_in_lane_in_ms", "21000"),
            ("pit_stop_timer_in_ms", "2400"),
            ("pit_stop_should_serve_pen", "1"),
            ("speed_trap_fastest_speed", "331.25"),
            ("speed_trap_fastest_lap", "11"),
            ("time_trial_pb_car_idx", "5"),
            ("time_trial_rival_car_idx", "255"),
        ],
    );
}

#[test]
fn car_telemetry() {
    let car = "2a01 0000403f 000000bf 0000003e 0a ff f22b 01 57 ff7f \
               9101 9201 f701 f801  5b5c5d5e  65666768  6e00 \
               0000ac41 0000ae41 0000b041 0000b241  00010207";
    let mut packet = with_car_7(6, car, 1_352);
    packet[1_349..].copy_from_slice(&[2, 255, 0xFF]);
    assert_row(
        &convert(&[packet]),
        "car_telemetry",
        7,
        &[
            ("speed", "298"),
            ("throttle", "0.75"),
            ("steer", "-0.5"),
            ("brake", "0.125"),
            ("clutch", "10"),
            ("gear", "-1"),
            ("engine_rpm", "11250"),
            ("drs", "1"),
            ("drs_name", "on"),
            ("rev_lights_percent", "87"),
            ("rev_lights_bit_value", "32767"),
            ("brakes_temperature_rl", "401"),
            ("brakes_temperature_rr", "402"),
            ("brakes_temperature_fl", "503"),
            ("brakes_temperature_fr", "504"),
            ("tyres_surface_temperature_rl", "91"),
            ("tyres_surface_temperature_fr", "94"),
            ("tyres_inner_temperature_rl", "101"),
            ("tyres_inner_temperature_fr", "104"),
            ("engine_temperature", "110"),
            ("tyres_pressure_rl", "21.5"),
            ("tyres_pressure_rr", "21.75"),
            ("tyres_pressure_fl", "22.0"),
            ("tyres_pressure_fr", "22.25"),
            ("surface_type_rr_name", "Rumble strip"),
            ("surface_type_fr_name", "Grass"),
            ("mfd_panel_index", "2"),
            ("mfd_panel_index_name", "damage"),
            ("mfd_panel_index_secondary_player_name", "closed"),
            ("suggested_gear", "-1"),
        ],
    );
}

#[test]
fn events_have_the_details_of_their_kind_alone() {
    let event = |details: &str| [header(3), hex(details)].concat();
    let place = convert(&[
        event("50454e41  04 07 0c ff 05 02 01  deadbeef99"),
        event("53505450  03 00a0a543 01 00 07 00c0a743"),
        event("464c424b  070b0000 00403842  deadbeef"),
        event("53535441  deadbeefdeadbeefdeadbeef"),
        event("4255544e  01001080  deadbeefdeadbeef"),
        event("58595a31  deadbeefdeadbeefdeadbeef"),
    ]);
    assert_row(
        &place,
        "events",
        0,
        &[
            ("event_code", "PENA"),
            ("event_code_name", "penalty issued"),
            ("penalty_type_name", "Time penalty"),
            ("infringement_type_name", "Corner cutting gained time"),
            ("vehicle_idx", "12"),
            ("other_vehicle_idx", "255"),
            ("penalty_time", "5"),
            ("lap_num", "2"),
            ("places_gained", "1"),
            ("speed", ""),
            ("lap_time", ""),
        ],
    );
    assert_row(
        &place,
        "events",
        1,
        &[
            ("event_code", "SPTP"),
            ("vehicle_idx", "3"),
            ("speed", "331.25"),
            ("is_overall_fastest_in_session", "1"),
            ("is_driver_fastest_in_session", "0"),
            ("fastest_vehicle_idx_in_session", "7"),
            ("fastest_speed_in_session", "335.5"),
            ("penalty_type", ""),
        ],
    );
    assert_row(
        &place,
        "events",
        2,
        &[
            ("event_code", "FLBK"),
            ("flashback_frame_identifier", "2823"),
            ("flashback_session_time", "46.0625"),
            ("vehicle_idx", ""),
        ],
    );
    let events = place.table("events");
    for row in [3, 5] {
        // Behind the code of these there is only what is left in memory.
        let details = events
            .columns
            .iter()
            .skip_while(|name| *name != "vehicle_idx");
        for column in details {
            assert_eq!(events.cell(row, column), "", "{column} of row {row}");
        }
    }
    assert_eq!(events.cell(4, "button_status"), "2148532225");
    assert_eq!(
        events.cell(4, "button_status_name"),
        "Cross or A|UDP Action 1|UDP Action 12"
    );
    assert_eq!(events.cell(5, "event_code"), "XYZ1");
    assert_eq!(events.cell(5, "event_code_name"), "");
}

#[test]
fn texts_end_at_nul_and_are_never_fatal() {
    // Car 7's name starts 7 bytes into its 57 bytes.
    let mut packet = header(4);
    packet.resize(1_284, 0);
    packet[29] = 20;
    let name = |car: usize| 30 + car * 57 + 7;
    packet[name(7)..name(7) + 12].copy_from_slice(b"H\xC3\x9CLK\0old\0xy");
    packet[name(8)..name(8) + 32].copy_from_slice(&[b'x'; 32]);
    packet[name(9)..name(9) + 3].copy_from_slice(b"a\xFFb");
    let place = Workplace::new();
    place.write("hand.pcap", pcap_of(&[packet]));
    let run = place.succeed(&["convert", "hand.pcap", "-o", "out", "-f", "csv"]);
    let table = place.table("participants");
    assert_eq!(table.cell(7, "name"), "HÜLK");
    assert_eq!(table.cell(8, "name"), "x".repeat(32));
    assert_eq!(table.cell(9, "name"), "a\u{FFFD}b");
    assert!(
        run.stderr.contains("1 texts were not UTF-8"),
        "{}",
        run.stderr
    );
}

#[test]
fn lists_hold_only_what_their_count_says() {
    // A session history of 2 laps and 9 stints, of which 8 fit.
    let mut packet = header(11);
    packet.extend(hex("05 02 09 01 02 01 02"));
    packet.extend(hex("505f0100 fb6e 00 c05d 01 204e 02 0f"));
    packet.extend(hex("00000000 0000 00 0000 00 0000 00 03"));
    packet.resize(29 + 7 + 100 * 14, 0x77);
    for stint in 0..8_u8 {
        packet.extend([stint, 16, 17]);
    }
    assert_eq!(packet.len(), 1_460);
    let place = convert(&[packet]);
    let laps = place.table("session_history_laps");
    assert_eq!(laps.column("lap_index"), ["0", "1"]);
    assert_eq!(laps.column("car_index"), ["5", "5"]);
    assert_eq!(laps.cell(0, "lap_time_in_ms"), "89936");
    assert_eq!(laps.cell(0, "sector1_time_ms_part"), "28411");
    assert_eq!(laps.cell(0, "sector2_time_ms_part"), "24000");
    assert_eq!(laps.cell(0, "sector2_time_minutes_part"), "1");
    assert_eq!(laps.cell(0, "sector3_time_minutes_part"), "2");
    assert_eq!(
        laps.cell(1, "lap_valid_bit_flags_name"),
        "lap valid|sector 1 valid"
    );
    let stints = place.table("session_history_tyre_stints");
    assert_eq!(stints.rows.len(), 8);
    assert_eq!(stints.cell(7, "end_lap"), "7");
    assert_eq!(stints.cell(7, "tyre_visual_compound_name"), "Medium");
}
