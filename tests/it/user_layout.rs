//! Layout files of the user's own, on the command line.

use serde_json::Value;

use crate::support::{Workplace, ethernet, ipv4_from, pcap, project_path, sample_path};

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
            .contains("two layout files describe a format of this name"),
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
