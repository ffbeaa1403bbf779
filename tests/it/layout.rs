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
            "packet P id 1 size 4\n  a u8 enum E\nenum E\n  1 one\n  0x1 eins",
            "test.layout:13: this value has a name already",
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
        (
            "packet P id 1 size 4\n  a u8 enum E\nenum E\n  one eins",
            "test.layout:12: `one` is not a whole number",
        ),
        (
            "packet P id 1 size 7\n  a f32 enum E\nenum E\n  1 one",
            "test.layout:10: only whole numbers and texts can have names",
        ),
        (
            "packet P id 1 size 8\n  a u8 enum E\n  b char[4] enum E\nenum E\n  1 one",
            "test.layout:11: this enum names the values of another field too",
        ),
        (
            "packet P id 1 size 4\n  a u8 enum E\nflags E\n  0 none",
            "test.layout:12: `0` is not a mask",
        ),
        (
            "enum E\n  1 one\nenum E\n  2 two",
            "test.layout:11: a second enum is named E",
        ),
        (
            "packet P id 1 size 9\n  k u8\n  union x 4 by k\n  case\n    a u8\n  end",
            "test.layout:12: `case` needs the values",
        ),
        (
            "packet P id 1 size 8\n  k u8\n  union x 4 by k\n  case 1\n    a u8\n  case 1\n    b u8\n  end",
            "test.layout:11: two cases stand for 1",
        ),
        (
            "packet P id 1 size 8\n  k u8\n  union x 2 by k\n  case 1\n    a u8\n  end\n  union y 2 by k",
            "test.layout:15: a second union",
        ),
        (
            "packet P id 1 size 8\n  k u8\n  union x 4 by k\n  case 1\n    a u8[cars]\n  end",
            "test.layout:13: arrays of rows cannot lie in a union",
        ),
        (
            "type Vector = f32[wheels]",
            "test.layout:9: `f32[wheels]` is an array",
        ),
        (
            "struct S\n  a u8\npacket P id 1 size 4\n  s S km/h",
            "test.layout:12: unit, enum, key and hidden belong to the fields in the struct",
        ),
        (
            "driving kind\ndriving year",
            "test.layout:10: a second `driving` line",
        ),
        (
            "packet P id 1 size 5\n  t u16 min\nclock t",
            "test.layout:11: t must be a time: its unit must be s or ms",
        ),
        (
            "packet P id 1 size 6\n  t char[3]\nsession changes t",
            "test.layout:11: t must have 1, 2, 4 or 8 bytes",
        ),
        (
            "clock kind\npacket P id 1 size 4\n  a u8",
            "test.layout:9: kind must be a time: its unit must be s or ms",
        ),
        (
            "session changes nothing\npacket P id 1 size 4\n  a u8",
            "test.layout:9: there is no field nothing that every packet has",
        ),
        (
            "about x P.a P.b\npacket P id 1 size 4\n  a u8",
            "test.layout:9: there is no whole number or text P.b outside of arrays",
        ),
        (
            "about x P.a Q.b\npacket P id 1 size 4\n  a u8\npacket Q id 2 size 4\n  b u8",
            "test.layout:9: all of these fields must be of one packet",
        ),
        (
            "about x P.a\nabout x P.a\npacket P id 1 size 4\n  a u8",
            "test.layout:10: a second `about x` line",
        ),
        (
            "driver name P.a\npacket P id 1 size 7\n  a u8[cars]",
            "test.layout:9: there is no P.a outside of arrays or in one with a `player`",
        ),
        (
            "lap P.a P.b\npacket P id 1 size 8\n  a u8\n  b f32",
            "test.layout:9: b must be a time: its unit must be s or ms",
        ),
        (
            "lap P.b P.b\npacket P id 1 size 7\n  b f32 s",
            "test.layout:9: P.b must be a whole number, and P.b must stand beside it",
        ),
        (
            "lap P.a P.a from x\npacket P id 1 size 4\n  a u8 s",
            "test.layout:9: `x` is not a whole number",
        ),
        (
            "driver x P.a\nlaps P.a P.a\npacket P id 1 size 4\n  a u8 s",
            "test.layout:10: there is no P.a in an array beside the car's number",
        ),
        (
            "session year\nsession changes kind\npacket P id 1 size 4\n  a u8",
            "test.layout:10: `session` names a number already",
        ),
        (
            "laps P.a P.b\npacket P id 1 size 8\n  a u8\n  b u8[laps] s\naxis laps rows 4 index lap",
            "test.layout:9: `laps` needs a `lap` or `driver` line",
        ),
        (
            "about x P.c\nstruct S\n  c u8\npacket P id 1 size 5\n  a S\n  b S",
            "test.layout:9: there is no whole number or text P.c outside of arrays",
        ),
        (
            "driver name P.a\npacket P id 1 size 7\n  a f32",
            "test.layout:9: P.a must be a whole number or a text",
        ),
        (
            "over Q\npacket P id 1 size 4\n  a u8",
            "test.layout:9: there is no packet Q",
        ),
        (
            "packet P id 1 size 7\n  a u8\nsession kind\ncheck kind = length nothing",
            "test.layout:12: there is no field nothing",
        ),
        (
            "axis laps rows 3 index lap count n start s\n\
             packet P id 1 size 8\n  n u8\n  s i8\n  a u8[laps]",
            "test.layout:9: s must be u8, u16 or u32",
        ),
        (
            "packet P id 1 size 4 4\n  a u8",
            "test.layout:9: the size 4 is given twice",
        ),
        (
            "packet P id 1 size 4 table con\n  a u8",
            "test.layout:9: no file can be named con",
        ),
        (
            "packet P id 1 size 4 table schema\n  a u8",
            "test.layout:9: no file can be named schema",
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
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\n  case ABCDE\n    a u8\n  end",
            "test.layout:11: `ABCDE` cannot be a value of code",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\npacket Q id 2 size 3",
            "test.layout:9: the union in this packet is not closed",
        ),
        (
            "packet P id 1 size 9\n  code char[4]\n  union rest 2 by code\n  case ABCD\n    a u8\n  case EFGH\n    a u16\n  end",
            "test.layout:15: column a means something else in another place",
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
fn layouts_that_ask_for_too_much_are_refused_at_once() {
    let nested = |members: usize, depth: usize, kind: &str| {
        let mut text = String::from("format x\nport 1\nstruct S0\n");
        for member in 0..members {
            text += &format!("  m{member} {kind}\n");
        }
        for level in 1..depth {
            text += &format!("struct S{level}\n");
            for member in 0..members {
                text += &format!("  m{member} S{}\n", level - 1);
            }
        }
        text + &format!("packet P size 1\n  x S{}\n", depth - 1)
    };
    let lines =
        |count: usize, line: &dyn Fn(usize) -> String| -> String { (0..count).map(line).collect() };
    let suffixes = lines(255, &|number| format!(" s{number}"));
    for (name, text) in [
        ("padding", nested(10, 14, "padding[1]")),
        ("fields", nested(10, 14, "u8")),
        ("depth", nested(1, 40, "u8")),
        (
            "cases",
            "format x\nport 1\npacket P size 9\n  k u32\n  union u 5 by k\n".to_string()
                + &lines(40_000, &|number| {
                    format!("  case {number}\n    a{number} u8\n")
                })
                + "  end\n",
        ),
        (
            "keys",
            "format x\nport 1\npacket P size 6000\n".to_string()
                + &lines(3_000, &|number| format!("  a{number} u8 key\n"))
                + &lines(3_000, &|number| {
                    format!("  table t{number}\n  b{number} u8\n")
                }),
        ),
        (
            "names",
            format!(
                "format x\nport 1\npacket P size 1\n  {} u8\n",
                "n".repeat(100_000)
            ),
        ),
        (
            "columns",
            format!(
                "format x\nport 1\naxis c columns{suffixes}\npacket P size 65025\n  a u8[c][c]\n"
            ),
        ),
        (
            "cells",
            "format x\nport 1\naxis a rows 256 index i\naxis b rows 256 index j\naxis c columns"
                .to_string()
                + &suffixes
                + "\npacket P size 2552 rows a b\n  x u8[a]\n  y u8[b]\n  z f64[c]\n",
        ),
        (
            "enums",
            "format x\n".to_string() + &lines(99_000, &|number| format!("enum E{number}\n")),
        ),
        (
            "values",
            "format x\nenum E\n".to_string() + &lines(99_000, &|number| format!("  v{number} n\n")),
        ),
    ] {
        let layout = Layout::parse(name, &text, &|_| None);
        assert!(layout.is_err(), "{name}");
    }
    let large = format!("# {}\n", "-".repeat(3_000)).repeat(300);
    let layout = Layout::parse("x", &"include large\n".repeat(20), &|_| Some(large.clone()));
    assert!(layout.is_err_and(|error| error.message.contains("with all includes")));
}

#[test]
fn what_a_file_says_outweighs_what_it_includes() {
    let included = "enum A\n  1 theirs\nenum B of g\n  1 theirs\n  2 gone\n";
    for text in [
        "format x\ngame g\nport 1\ninclude i\nenum A\n  1 ours\nenum B of g\n  1 ours\n",
        "format x\ngame g\nport 1\nenum A\n  1 ours\nenum B of g\n  1 ours\ninclude i\n",
    ] {
        let text = format!("{text}packet P size 2\n  a u8 enum A\n  b u8 enum B\n");
        let layout = Layout::parse("x", &text, &|_| Some(included.into()));
        let enums = format!("{:?}", layout.expect("a sound layout").enums);
        assert!(
            !enums.contains("theirs") && !enums.contains("gone"),
            "{enums}"
        );
        assert_eq!(enums.matches("ours").count(), 2, "{enums}");
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
