//! Layout files of the user's own, on the command line.

use serde_json::Value;

use crate::support::{Table, Workplace, ethernet, ipv4_from, pcap, project_path, sample_path};

fn example() -> String {
    project_path("examples/outgauge.layout")
        .display()
        .to_string()
}

#[test]
fn the_example_converts_like_a_format_of_simtels_own() {
    let place = Workplace::new();
    let sample = project_path("samples/outgauge.pcap").display().to_string();
    let options = ["--layout", &example(), "-f", "csv", "--labels"];
    place.succeed(&[&["convert", &sample, "-o", "out"], &options[..]].concat());
    let table = place.table_of("outgauge", "out_gauge");
    assert_eq!(table.rows.len(), 12);
    for (column, value) in [
        ("time", "5160"),
        ("car", "XFG"),
        ("flags", "16384"),
        ("flags_name", "prefers km"),
        ("gear", "3"),
        ("gear_name", "2"),
        ("speed", "18.0"),
        ("rpm", "3500.0"),
        ("engine_temp", "8.0"),
        ("show_lights_name", "oil warning"),
        ("display1", "Fuel 61%"),
        // The fifth datagram comes from a game without an ID.
        ("id", ""),
    ] {
        assert_eq!(table.cell(4, column), value, "{column}");
    }
    assert_eq!(table.cell(3, "id"), "-3");
    assert_eq!(table.cell(3, "show_lights_name"), "shift light|oil warning");

    let schema = place.succeed(&[
        "schema",
        "outgauge/out_gauge",
        "--layout",
        &example(),
        "--json",
    ]);
    let schema: Value = serde_json::from_slice(&schema.stdout).expect("JSON");
    assert_eq!(schema["packets"][0]["bytes"], 96);
    assert_eq!(schema["packets"][0]["shorter"][0], 92);
    let unknown = place.run(&["convert", &sample, "-o", "none"]);
    assert_eq!(unknown.code, 3);
    assert!(
        unknown.stderr.contains("12 UDP datagrams"),
        "{}",
        unknown.stderr
    );
    assert!(unknown.stderr.contains("--layout"), "{}", unknown.stderr);
}

/// A capture of these payloads to these ports.
fn write_capture(place: &Workplace, datagrams: &[(u16, &[u8])]) {
    let frames: Vec<Vec<u8>> = datagrams
        .iter()
        .map(|(port, payload)| ethernet(&ipv4_from([10, 0, 0, 1], *port, payload)))
        .collect();
    place.write("x.pcap", pcap(&frames));
}

#[test]
fn datagrams_are_known_by_port_length_and_mark() {
    let place = Workplace::new();
    place.write(
        "by_port.layout",
        "format by_port By port\nport 4000 4001\npacket Car size 3\n  a u8\n  b u16 at 1",
    );
    place.write(
        "by_mark.layout",
        "format by_mark By mark\nmatch tag = ABCD WXYZ\nmatch kind = 7\n\
         header H\n  tag char[4]\n  kind u8 hidden\npacket Car size 7\n  a u16\npacket Lap size 6\n  lap u8",
    );
    place.write(
        "by_length.layout",
        "format by_length By length\npacket Car size 7\n  raw hex[7]",
    );
    write_capture(
        &place,
        &[
            (4000, &[1, 2, 0]),
            (4001, &[3, 4, 0]),
            (4002, &[5, 6, 0]),
            (4000, &[1, 2, 3, 4]),
            (9, b"ABCD\x07\x05\x00"),
            (9, b"WXYZ\x07\x09"),
            (9, b"ABCD\x08\x05\x00"),
            (9, b"ABCE\x07\x05\x00"),
        ],
    );
    let layouts = ["by_length", "by_port", "by_mark"].map(|name| format!("{name}.layout"));
    let options: Vec<&str> = layouts
        .iter()
        .flat_map(|file| ["--layout", file.as_str()])
        .collect();
    let run = place.run(
        &[
            &["convert", "x.pcap", "-o", "out", "-f", "csv"],
            &options[..],
        ]
        .concat(),
    );
    assert_eq!(run.code, 3, "{}", run.stderr);
    let ports = place.table_of("by_port", "car");
    assert_eq!(
        (ports.column("a"), ports.column("b")),
        (vec!["1", "3"], vec!["2", "4"])
    );
    let marks = place.table_of("by_mark", "car");
    assert_eq!(
        (marks.column("tag"), marks.column("a")),
        (vec!["ABCD"], vec!["5"])
    );
    assert_eq!(place.table_of("by_mark", "lap").column("lap"), ["9"]);
    // What another layout knows by a mark is not taken for its length.
    let lengths = place.table_of("by_length", "car");
    assert_eq!(lengths.column("raw"), ["41424344080500", "41424345070500"]);
    for message in [
        "unexpected length: 1 × by_port Car of 4 bytes, expected 3",
        "unrecognised: 1 × 3 bytes to port 4002",
    ] {
        assert!(run.stderr.contains(message), "{}", run.stderr);
    }
}

#[test]
fn a_layout_takes_the_place_of_a_known_one_of_its_name() {
    let place = Workplace::new();
    place.write(
        "mine.layout",
        "format f1_2025 Mine\nmatch year = 2025\nselect id\nheader H\n  year u16 hidden\n  \
         rest hex[4] hidden\n  id u8 hidden\n  uid u64 key\npacket Motion id 0 size 1349\n  first f32 at 29\n  \
         others padding[1316]",
    );
    place.succeed(&["schema", "f1_2025/motion", "--layout", "mine.layout"]);
    let run = place.run(&[
        "convert",
        &sample_path(),
        "-o",
        "out",
        "-f",
        "csv",
        "--layout",
        "mine.layout",
    ]);
    assert_eq!(run.code, 3);
    assert!(run.stderr.contains("unknown packet"), "{}", run.stderr);
    let table = place.table_of("f1_2025", "motion");
    assert_eq!(table.columns, ["capture_time", "uid", "first"]);

    let run = place.run(&[
        "convert",
        &sample_path(),
        "-o",
        "o",
        "--layout",
        "mine.layout",
        "--layout",
        "mine.layout",
    ]);
    assert_eq!(run.code, 1);
    assert!(
        run.stderr
            .contains("two layout files describe a format named f1_2025"),
        "{}",
        run.stderr
    );
}

#[test]
fn a_broken_layout_file_is_named_with_its_line_and_the_mend() {
    let place = Workplace::new();
    for (text, message) in [
        (
            "format x\npacket P size 3\n  a u24",
            "my.layout:3: unknown type u24: known are u8",
        ),
        (
            "format x\npacket P size 3\n  a u16\n  b u8 at 1",
            "my.layout:4: b at 1 overlaps the fields before it",
        ),
        (
            "format x\npacket P\n  a u8",
            "my.layout:2: packet P does not state its length: add `size N`",
        ),
        (
            "format x\npacket P size 2\n  a u8\n  a u8",
            "my.layout:4: a second field is named a: rename one",
        ),
        (
            "\u{feff}format x\r\npacket P size 2\r\n  a u8\r\n",
            "my.layout:2: the fields of packet P take 1 bytes",
        ),
        (
            "format x\ninclude other.enums",
            "my.layout:2: cannot read the included file other.enums",
        ),
    ] {
        place.write("my.layout", text);
        let run = place.run(&[
            "convert",
            &sample_path(),
            "-o",
            "out",
            "--layout",
            "my.layout",
        ]);
        assert_eq!(run.code, 1, "{text}");
        assert!(run.stderr.contains(message), "{text}: {}", run.stderr);
        let run = place.run(&["schema", "--layout", "my.layout"]);
        assert!(run.stderr.contains(message), "{text}: {}", run.stderr);
    }
    assert!(!place.path("out").exists());
    for file in ["none.layout", "."] {
        let run = place.run(&["schema", "--layout", file]);
        assert_eq!(run.code, 1);
        assert!(
            run.stderr
                .contains(&format!("cannot read the layout file {file}")),
            "{}",
            run.stderr
        );
    }
    // Included files lie beside the layout, or are simtel's own.
    std::fs::create_dir(place.path("folder")).expect("a folder");
    place.write("folder/my.enums", "enum Mine\n  1 one");
    place.write(
        "folder/my.layout",
        "format mine\ninclude my.enums\ninclude f1/2025.enums\npacket P size 2\n  a u8 enum Mine\n  b u8 enum TrackId",
    );
    place.succeed(&["schema", "mine", "--layout", "folder/my.layout"]);
}

/// The CSV table `p` of a layout of format `x`, converted from these payloads.
fn converted(layout: &str, payloads: &[&[u8]], options: &[&str]) -> Table {
    let place = Workplace::new();
    place.write("x.layout", format!("format x\nport 1\n{layout}"));
    let datagrams: Vec<(u16, &[u8])> = payloads.iter().map(|payload| (1, *payload)).collect();
    write_capture(&place, &datagrams);
    let base = [
        "convert", "x.pcap", "-o", "out", "-f", "csv", "--layout", "x.layout",
    ];
    let run = place.run(&[&base, options].concat());
    assert!(matches!(run.code, 0 | 3), "{}", run.stderr);
    place.table_of("x", "p")
}

fn row(table: &Table, row: usize) -> Vec<&str> {
    table.rows[row][1..].iter().map(String::as_str).collect()
}

#[test]
fn arrays_in_unions_are_spread_over_columns() {
    let table = converted(
        "axis w columns l r\npacket P size 5\n  k u8\n  union x 4 by k\n  case 1\n    t u16[w]\n  \
         case 2\n    t u16[w]\n    end",
        &[&[1, 10, 0, 20, 0], &[2, 30, 0, 40, 0], &[3, 1, 1, 1, 1]],
        &[],
    );
    assert_eq!(table.columns[1..], ["k", "t_l", "t_r"]);
    assert_eq!(row(&table, 0), ["1", "10", "20"]);
    assert_eq!(row(&table, 1), ["2", "30", "40"]);
    assert_eq!(row(&table, 2), ["3", "", ""]);
}

#[test]
fn shorter_datagrams_have_what_they_reach_to() {
    let table = converted(
        "axis w columns l m r\naxis cars rows 3 index car\nstruct Car\n  s u8\n\
         packet P size 11 8 5 rows cars\n  k u8\n  a u8[w]\n  s u8[cars]\n  union x 4 by k\n  case 1\n    t u32\n  end",
        &[
            &[1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0],
            &[1, 2, 3, 4, 5, 6, 7, 8],
            &[1, 2, 3, 4, 5],
        ],
        &[],
    );
    assert_eq!(
        table.columns[1..],
        ["car", "k", "a_l", "a_m", "a_r", "s", "t"]
    );
    assert_eq!(row(&table, 2), ["2", "1", "2", "3", "4", "7", "8"]);
    // Its last four bytes are not all there.
    assert_eq!(row(&table, 5), ["2", "1", "2", "3", "4", "7", ""]);
    assert_eq!(row(&table, 6), ["0", "1", "2", "3", "4", "5", ""]);
    assert_eq!(row(&table, 8), ["2", "1", "2", "3", "4", "", ""]);
}

#[test]
fn names_of_values_fit_their_fields() {
    let table = converted(
        "packet P size 11\n  a char[2] enum A\n  b u64 enum B\n  b_name u8\n\
         enum A\n  44 Hamilton\n  01 Verstappen\nflags B\n  0x8000000000000000 high\n  1 low",
        &[b"01\x01\0\0\0\0\0\0\x80\x07"],
        &["--labels"],
    );
    // The game has a column of that name.
    assert_eq!(
        table.columns[1..],
        ["a", "a_name", "b", "b_name_2", "b_name"]
    );
    let high = 1_u64 << 63 | 1;
    assert_eq!(
        row(&table, 0),
        ["01", "Verstappen", &high.to_string(), "high|low", "7"]
    );
}

#[test]
fn a_game_that_is_named_settles_names_without_evidence() {
    let layout = "game g1 One\ngame g2 Two\npacket P size 1\n  a u8 enum A\n\
                  enum A of g1\n  1 one\nenum A of g2\n  1 eins\n";
    let name = |options: &[&str]| {
        converted(layout, &[&[1]], options)
            .cell(0, "a_name")
            .to_string()
    };
    assert_eq!(name(&["--labels"]), "undetermined");
    assert_eq!(name(&["--labels", "--game", "g2"]), "eins");
}

#[test]
fn the_layout_that_fits_best_is_chosen() {
    // A port that the user has named says more than Forza's length.
    let mut payload = vec![0; 232];
    payload[0] = 1;
    let table = converted(
        "packet P size 232\n  a u8\n  rest padding[231]",
        &[&payload],
        &[],
    );
    assert_eq!(table.rows.len(), 1);
    // Of two formats of the game the one that has more of the datagram.
    let place = Workplace::new();
    let sample = project_path("samples/forza_motorsport.pcap")
        .display()
        .to_string();
    let run = place.run(&[
        "convert",
        &sample,
        "-o",
        "out",
        "--game",
        "fm7",
        "--lenient",
    ]);
    assert_eq!(run.code, 3);
    assert!(
        run.stderr
            .contains("forza_dash Telemetry of 331 bytes, expected 311"),
        "{}",
        run.stderr
    );
}
