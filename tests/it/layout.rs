//! The layout files against the games' official sizes, and the parser against
//! what people write by mistake.

use simtel::formats::Formats;
use simtel::layout::Layout;

/// Official packet sizes of each format, by packet id.
const F1: [(&str, &[usize]); 9] = [
    ("f1_2018", &[1341, 147, 841, 25, 1082, 841, 1085, 1061]),
    ("f1_2019", &[1343, 149, 843, 32, 1104, 843, 1347, 1143]),
    (
        "f1_2020",
        &[1464, 251, 1190, 35, 1213, 1102, 1307, 1344, 839, 1169],
    ),
    (
        "f1_2021",
        &[
            1464, 625, 970, 36, 1257, 1102, 1347, 1058, 839, 1191, 882, 1155,
        ],
    ),
    (
        "f1_2022",
        &[
            1464, 632, 972, 40, 1257, 1102, 1347, 1058, 1015, 1191, 948, 1155,
        ],
    ),
    (
        "f1_2023",
        &[
            1349, 644, 1131, 45, 1306, 1107, 1352, 1239, 1020, 1218, 953, 1460, 231, 217,
        ],
    ),
    (
        "f1_2024",
        &[
            1349, 753, 1285, 45, 1350, 1133, 1352, 1239, 1020, 1306, 953, 1460, 231, 237, 101,
        ],
    ),
    (
        "f1_2025",
        &[
            1349, 753, 1285, 45, 1284, 1133, 1352, 1239, 1042, 954, 1041, 1460, 231, 273, 101, 1131,
        ],
    ),
    (
        "f1_2026",
        &[
            1325, 926, 1399, 45, 1470, 1233, 1448, 1445, 1134, 1062, 1133, 1460, 231, 273, 104,
            1231, 269,
        ],
    ),
];

#[test]
fn every_f1_packet_has_its_official_size() {
    let formats = Formats::built_in();
    let names: Vec<&str> = formats
        .layouts()
        .iter()
        .map(|layout| layout.name.as_str())
        .collect();
    assert_eq!(names[..9], F1.map(|(name, _)| name));
    for (layout, (name, official)) in formats.layouts().iter().zip(F1) {
        let ids: Vec<Option<i64>> = layout.packets.iter().map(|packet| packet.id).collect();
        let expected: Vec<Option<i64>> = (0..official.len() as i64).map(Some).collect();
        assert_eq!(ids, expected, "{name}");
        for (packet, official) in layout.packets.iter().zip(official) {
            assert_eq!(packet.size, *official, "{name} {}", packet.name);
            let end = packet.leaves.iter().map(|leaf| {
                let arrays = leaf.dimensions.iter();
                let last: usize = arrays.map(|array| (array.length - 1) * array.stride).sum();
                leaf.offset + last + leaf.scalar.size()
            });
            assert_eq!(end.max(), Some(packet.size), "{name} {}", packet.name);
        }
    }
}

/// What the parser says of a layout with these lines in it.
fn error(lines: &str) -> String {
    let text = format!(
        "format test Test\n\
         match year = 2030\n\
         select kind\n\
         axis cars rows 4 index car_index\n\
         axis wheels columns rl rr fl fr\n\
         header Head\n  year u16\n  kind u8\n{lines}\n"
    );
    match Layout::parse("test.layout", &text, &|_| None) {
        Ok(_) => "no error".into(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_sound_layout_is_read() {
    let packet = "struct Car\n  speed u16 km/h -- fast\n  wear f32[wheels] %\n\
                  packet Cars id 1 size 75 rows cars\n  cars Car[cars]";
    assert_eq!(error(packet), "no error");
}

#[test]
fn mistakes_are_named_with_their_line_and_the_mend() {
    for (lines, message) in [
        (
            "packet P id 1 size 4\n  a u24",
            "test.layout:10: unknown type u24: known are u8",
        ),
        (
            "packet P id 1 size 5\n  a u8",
            "test.layout:9: the fields of packet P take 4 bytes, but its size is given as 5",
        ),
        (
            "packet P id 1",
            "test.layout:9: packet P does not state its length: add `size N`",
        ),
        (
            "packet P id 1 size 5\n  a u8\n  a u8",
            "test.layout:11: a second field is named a",
        ),
        (
            "packet P id 1 size 5\n  a u8\n  b u8 as a",
            "test.layout:9: two columns of table p are named a: rename one with `as NAME`",
        ),
        (
            "struct S\n  a u8\nstruct S\n  a u8",
            "test.layout:11: a second struct is named S",
        ),
        (
            "packet P id 1 size 4\n  a u8\npacket Q id 2 size 4 table p\n  a u8",
            "test.layout:11: a second table is named p",
        ),
        (
            "packet P id 1 size 7\n  a u8[laps]",
            "test.layout:10: unknown axis laps",
        ),
        (
            "packet P id 1 size 7\n  a u8[wheels] enum Nothing",
            "test.layout:10: unknown enum Nothing",
        ),
        (
            "packet P id 1 size 7\n  a char",
            "test.layout:10: `char` needs a length: write `char[N]`",
        ),
        (
            "packet P id 1 size 7\n  a u8 km/h m/s",
            "test.layout:10: unexpected `m/s`: the unit is already `km/h`",
        ),
        (
            "packet P id 1 size 99999\n  a u8",
            "test.layout:9: `99999` is not a whole number from 1 to 65535",
        ),
        (
            "packet P id x size 4\n  a u8",
            "test.layout:9: `x` is not a whole number",
        ),
        (
            "axis laps rows 3",
            "test.layout:9: an axis of rows needs `index COLUMN`",
        ),
        (
            "axis laps rows 3 index lap_index count numLaps\n\
             packet P id 1 size 6\n  a u8[laps]",
            "test.layout:9: packet P has no whole number numLaps beside its array along laps",
        ),
        (
            "packet P id 1 size 4 rows cars\n  a u8",
            "test.layout:9: packet P has no array along cars",
        ),
        ("enum E\n  one", "test.layout:10: a value of an enum"),
        (
            "enum E\n  1 one\n  0x1 eins",
            "test.layout:11: this value has the name one already",
        ),
        (
            "packet P id 1 size 5\n  a u16 at 2",
            "test.layout:10: a at 2 overlaps the fields before it, which reach to 3",
        ),
        (
            "packet P id 1 size 4\n  a u8\npacket Q id 1 size 4\n  a u8",
            "test.layout:11: a second packet has the id 1",
        ),
        (
            "packet P size 4\n  a u8",
            "test.layout:9: packet P has no `id N`, but `select` chooses packets by it",
        ),
        (
            "packet P id 1 size 4\n  a u8\nmatch a = 300",
            "test.layout:11: `300` cannot be a value of this field",
        ),
        (
            "packet P id 1 size 4\n  a u8\nmatch b = 3",
            "test.layout:11: there is no field b that every packet has",
        ),
        (
            "packet ../P id 1 size 4\n  a u8",
            "test.layout:9: `___p` names a folder or a file",
        ),
        ("format two", "test.layout:9: a second `format` line"),
        ("port 70000", "test.layout:9: `70000` is not a port"),
        (
            "enum E of fh9\n  1 one",
            "test.layout:9: unknown game fh9: declare it above with `game fh9 TITLE`",
        ),
        (
            "tell kind by year\n  1 2..x g",
            "test.layout:10: `x` is not a whole number",
        ),
        ("  a u8\nspeed u8", "test.layout:10: cannot read `speed u8`"),
        (
            "include other.layout",
            "test.layout:9: cannot read the included file",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\n  case ABCD\n    a u32\n  end",
            "test.layout:11: case ABCD takes 4 bytes, more than the union's 2",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\n  case ABC\n    a u8\n  end",
            "test.layout:11: `ABC` cannot be a value of code",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\npacket Q id 2 size 3",
            "test.layout:9: the union in this packet is not closed",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\n  case ABCD\n    a u8\n  case EFGH\n    a u16\n  end",
            "test.layout:15: column a means something else in another case",
        ),
        (
            "struct S\n  next S[cars]\npacket P id 1 size 4\n  s S",
            "too many fields, or nested too deeply",
        ),
    ] {
        let said = error(lines);
        assert!(
            said.contains(message),
            "{lines}\nsays {said}\nnot {message}"
        );
    }
}

#[test]
fn a_file_that_is_no_layout_is_refused() {
    for text in [
        "",
        "# nothing\n",
        "\u{0}\u{1}\u{2}",
        "  a u8",
        "format",
        "format x",
        "format ../x\npacket P size 1\n  a u8",
        "format x\npacket P size 1\n  a u8\npacket Q size 1\n  a u8",
        "format x\nselect a\npacket P id 1 size 1\n  a u8",
    ] {
        assert!(Layout::parse("x", text, &|_| None).is_err(), "{text:?}");
    }
    let circle = Layout::parse("x", "include x", &|_| Some("include x".into()));
    assert!(circle.is_err_and(|error| error.message.contains("circle")));
    // Each of a few files that include the next one twice.
    let doubling = Layout::parse("x", "include x0", &|name| {
        let next = name[1..].parse::<u32>().expect("a number") + 1;
        Some(format!("include x{next}\n").repeat(2))
    });
    assert!(doubling.is_err_and(|error| error.message.contains("circle")));
    let long = Layout::parse("x", &"# a line\n".repeat(100_001), &|_| None);
    assert!(long.is_err_and(|error| error.message.contains("more than")));
}

#[test]
fn fields_are_found_by_their_official_path() {
    let formats = Formats::built_in();
    let mut layouts = formats.layouts().iter();
    let layout = layouts
        .find(|layout| layout.name == "f1_2025")
        .expect("F1 25");
    let packet = layout.packet("CarTelemetry").expect("a packet");
    let place = packet.locate("carTelemetryData[3].tyresPressure[1]");
    // Header 29, 60 bytes a car, pressures 40 bytes in.
    assert_eq!(place.map(|place| place.offset), Some(29 + 3 * 60 + 40 + 4));
    assert_eq!(packet.locate("carTelemetryData[22].speed"), None);
    assert_eq!(packet.locate("carTelemetryData.speed"), None);
    assert_eq!(packet.locate("carTelemetryData[x].speed"), None);
    let event = layout.packet("Event").expect("a packet");
    let lap_time = event.locate("eventDetails.FTLP.lapTime");
    assert_eq!(lap_time.map(|place| place.offset), Some(34));
}

#[test]
fn the_example_of_the_documentation_is_a_layout() {
    let text = include_str!("../../docs/layouts.md");
    let example = text.split("```text\n").nth(1).expect("an example");
    let example = example.split("```").next().expect("its end");
    let layout = Layout::parse("example", example, &|_| Some(String::new()));
    let layout = layout.expect("a sound layout");
    let tables: Vec<&str> = layout
        .tables
        .iter()
        .map(|table| table.name.as_str())
        .collect();
    assert_eq!(tables, ["telemetry", "history", "history_laps"]);
}
