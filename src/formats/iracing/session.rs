//! The session string: text that looks like YAML but that no YAML reader takes
//! for long, since names stand in it as people have written them. What writes
//! it is regular, so it is read line by line: indentation, `- `, a key, and the
//! rest of the line as text, whatever it holds. A line that is none of these
//! belongs to the text before it.

use std::borrow::Cow;

use encoding_rs::WINDOWS_1252;

/// A session string that was read.
#[derive(Debug, Default)]
pub struct Session {
    /// The whole of it, in UTF-8.
    pub text: String,
    pub root: Node,
    /// Lines that are no entries, the first of them: their number and what
    /// became of them.
    pub odd_lines: Vec<(usize, &'static str)>,
    /// How many there are.
    pub odd_count: usize,
    /// What could not be decoded or is too much to read.
    pub notes: Vec<String>,
}

/// An entry's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Node {
    Text(String),
    Map(Vec<(String, Node)>),
    List(Vec<Node>),
}

impl Default for Node {
    fn default() -> Node {
        Node::Map(Vec::new())
    }
}

impl Node {
    /// The entry of a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let (_, node) = self.entries().iter().find(|(known, _)| known == key)?;
        Some(node)
    }

    /// The entries of a map; none for anything else.
    pub fn entries(&self) -> &[(String, Node)] {
        match self {
            Node::Map(entries) => entries,
            Node::Text(_) | Node::List(_) => &[],
        }
    }

    /// The items of a list; none for anything else.
    pub fn items(&self) -> &[Node] {
        match self {
            Node::List(items) => items,
            Node::Text(_) | Node::Map(_) => &[],
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Node::Text(text) => Some(text),
            Node::Map(_) | Node::List(_) => None,
        }
    }
}

/// Far deeper than the simulator goes.
const DEEPEST: usize = 32;
/// Of these each is told; more is damage, not a name with a line break.
const MOST_ODD_LINES: usize = 20;
/// Many times what the simulator has room for in its memory.
const LONGEST: usize = 4 << 20;

impl Session {
    /// Reads a session string as it stands in the file; never fails.
    pub fn read(bytes: &[u8]) -> Session {
        let mut notes = Vec::new();
        let text = decode(bytes, &mut notes);
        let mut reader = Reader {
            entries: Vec::new(),
            next: 0,
            odd_lines: Vec::new(),
            odd_count: 0,
        };
        match text.len() > LONGEST {
            true => notes.push(format!(
                "it has more than {LONGEST} bytes: no tables are made of it"
            )),
            false => reader.lines(&text),
        }
        let mut root = Vec::new();
        while reader.next < reader.entries.len() {
            let before = reader.next;
            root.extend(reader.map(0, 0));
            if reader.next == before {
                reader.skip("it has no place among the entries around it");
            }
        }
        Session {
            root: Node::Map(root),
            odd_lines: reader.odd_lines,
            odd_count: reader.odd_count,
            notes,
            text,
        }
    }
}

/// What stands at the margin, as far as it is known.
const SECTIONS: [&str; 8] = [
    "WeekendInfo",
    "SessionInfo",
    "QualifyResultsInfo",
    "CameraInfo",
    "RadioInfo",
    "DriverInfo",
    "SplitTimeInfo",
    "CarSetup",
];

/// A key and its value, before it is known what they are part of.
struct Entry {
    line: usize,
    indent: usize,
    /// Where the key stands if a `- ` comes before it.
    after_dash: Option<usize>,
    key: String,
    value: String,
}

struct Reader {
    entries: Vec<Entry>,
    next: usize,
    odd_lines: Vec<(usize, &'static str)>,
    odd_count: usize,
}

impl Reader {
    fn lines(&mut self, text: &str) {
        // A section stands behind an empty line.
        let mut may_begin_section = true;
        for (number, line) in text.split('\n').enumerate() {
            let line = line.strip_suffix('\r').unwrap_or(line);
            if line.trim().is_empty() || line == "---" || line == "..." {
                may_begin_section = true;
                continue;
            }
            let begins_section = std::mem::replace(&mut may_begin_section, false);
            let entry = entry(number + 1, line).filter(|entry| {
                let may_stand_at_margin = entry.after_dash.is_none()
                    && entry.value.is_empty()
                    && (begins_section || SECTIONS.contains(&entry.key.as_str()));
                // Else it is the rest of a text with a line break in it.
                entry.indent > 0 || may_stand_at_margin
            });
            match entry {
                Some(entry) => self.entries.push(entry),
                None => {
                    self.note(number + 1, "it belongs to the text before it");
                    if let Some(last) = self.entries.last_mut() {
                        last.value.push('\n');
                        last.value.push_str(line);
                    }
                }
            }
        }
        for entry in &mut self.entries {
            entry.value = unquoted(&entry.value);
        }
    }

    fn note(&mut self, line: usize, what: &'static str) {
        self.odd_count += 1;
        if self.odd_lines.len() < MOST_ODD_LINES {
            self.odd_lines.push((line, what));
        }
    }

    fn skip(&mut self, why: &'static str) {
        self.note(self.entries[self.next].line, why);
        self.next += 1;
    }

    /// The entries of a map whose keys stand at `indent`.
    fn map(&mut self, indent: usize, depth: usize) -> Vec<(String, Node)> {
        let mut map = Vec::new();
        while let Some(entry) = self.entries.get(self.next) {
            if entry.after_dash.is_some() || entry.indent < indent {
                break;
            }
            if entry.indent > indent || depth > DEEPEST {
                self.skip("it is indented without reason");
                continue;
            }
            let (key, value) = (entry.key.clone(), entry.value.clone());
            self.next += 1;
            let node = match self.entries.get(self.next) {
                Some(inner) if value.is_empty() && inner.indent >= indent => {
                    let inner_indent = inner.indent;
                    match inner.after_dash {
                        Some(_) => Node::List(self.list(inner_indent, depth + 1)),
                        None if inner_indent > indent => {
                            Node::Map(self.map(inner_indent, depth + 1))
                        }
                        None => Node::Text(value),
                    }
                }
                _ => Node::Text(value),
            };
            map.push((key, node));
        }
        map
    }

    /// The items of a list whose dashes stand at `indent`.
    fn list(&mut self, indent: usize, depth: usize) -> Vec<Node> {
        let mut list = Vec::new();
        while let Some(entry) = self.entries.get_mut(self.next) {
            let Some(keys) = entry.after_dash.filter(|_| entry.indent == indent) else {
                if entry.indent <= indent {
                    break;
                }
                self.skip("it is indented without reason");
                continue;
            };
            // The rest of the item is a map that begins behind the dash.
            entry.after_dash = None;
            entry.indent = keys;
            list.push(Node::Map(self.map(keys, depth)));
        }
        list
    }
}

/// A line as an entry: `key: value`, `key:`, either behind a dash.
fn entry(line: usize, text: &str) -> Option<Entry> {
    let content = text.trim_start_matches(' ');
    let indent = text.len() - content.len();
    let (content, after_dash) = match content.strip_prefix("- ") {
        Some(rest) => {
            let key = rest.trim_start_matches(' ');
            (key, Some(indent + content.len() - key.len()))
        }
        None => (content, None),
    };
    let (key, value) = content.split_once(':')?;
    let is_key = key.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && (value.is_empty() || value.starts_with(' '));
    is_key.then(|| Entry {
        line,
        indent,
        after_dash,
        key: key.into(),
        value: value.trim_matches(' ').into(),
    })
}

/// Without the quotes around the whole of it. Double ones inside are as they
/// are, since the simulator does not escape them; single ones are doubled.
fn unquoted(value: &str) -> String {
    let inner = |quote: char| value.strip_prefix(quote)?.strip_suffix(quote);
    if let Some(inner) = inner('"') {
        return inner.into();
    }
    let inner = inner('\'').map(|inner| (inner, inner.replace("''", "")));
    match inner {
        Some((inner, others)) if !others.contains('\'') => inner.replace("''", "'"),
        // Two quoted words, for one.
        _ => value.into(),
    }
}

/// The text in UTF-8: from the encoding that it states, else from UTF-8 if it
/// is that, else from Windows-1252, of which Latin-1 is a part in practice.
fn decode(bytes: &[u8], notes: &mut Vec<String>) -> String {
    const KEY: &str = "Encoding:";
    let stated = bytes
        .split(|byte| *byte == b'\n')
        // It is one of the first, before any name.
        .take(10)
        .filter_map(|line| std::str::from_utf8(line).ok())
        .find_map(|line| line.trim_start().strip_prefix(KEY));
    let states_utf8 = stated.map(|stated| stated.to_ascii_uppercase().contains("UTF"));
    // The last character may be cut.
    let is_utf8 = std::str::from_utf8(bytes).map_or_else(
        |error| error.error_len().is_none() && error.valid_up_to() > 0,
        |_| true,
    );
    if states_utf8 == Some(true) || (states_utf8.is_none() && is_utf8) {
        let text = String::from_utf8_lossy(bytes);
        if matches!(text, Cow::Owned(_)) {
            notes.push("some of it is not UTF-8 and is shown as \u{FFFD}".into());
        }
        return text.into_owned();
    }
    let (text, _) = WINDOWS_1252.decode_without_bom_handling(bytes);
    match stated {
        // What it says must be true of what is written from it.
        Some(stated) => text.replacen(
            &format!("{KEY}{}", stated.trim_end()),
            &format!("{KEY} UTF8"),
            1,
        ),
        None => text.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let session = Session::read(text.as_bytes());
        let drivers = session
            .root
            .get("DriverInfo")
            .and_then(|info| info.get("Drivers"));
        let drivers = drivers.map(Node::items).unwrap_or_default();
        let names = drivers.iter().map(|driver| {
            let name = driver.get("UserName").and_then(Node::text);
            assert_eq!(driver.get("CarIdx").and_then(Node::text), Some("3"));
            name.unwrap_or("none").to_string()
        });
        names.collect()
    }

    #[test]
    fn names_are_taken_as_they_stand() {
        for (written, read) in [
            ("Plain Name", "Plain Name"),
            ("- TERCIO -7 -", "- TERCIO -7 -"),
            ("? ?", "? ?"),
            (", comma", ", comma"),
            ("[SIM] {x}", "[SIM] {x}"),
            ("a: b # c", "a: b # c"),
            (
                "*star &and !bang |pipe >more @at `tick %",
                "*star &and !bang |pipe >more @at `tick %",
            ),
            ("No", "No"),
            ("\u{1}\u{85}", "\u{1}\u{85}"),
            ("\"quoted \"inside\" \\ it\"", "quoted \"inside\" \\ it"),
            ("'it''s'", "it's"),
            ("'", "'"),
            ("", ""),
            ("two\nlines", "two\nlines"),
            ("two\n- lines", "two\n- lines"),
            ("two\nnote:", "two\nnote:"),
            ("two\nnote: dry", "two\nnote: dry"),
            ("two\n- a: b", "two\n- a: b"),
            ("'a' & 'b'", "'a' & 'b'"),
            ("two\n  three: four", "two"),
        ] {
            let text = format!(
                "---\nDriverInfo:\n Drivers:\n - CarIdx: 3\n   UserName: {written}\n   UserID: 1\n \
                 - CarIdx: 3\n   UserName: next\n\n...\n"
            );
            assert_eq!(names(&text), [read, "next"], "{written:?}");
            assert_eq!(names(&text.replace('\n', "\r\n")), [read, "next"]);
        }
    }

    #[test]
    fn lists_may_be_indented_and_maps_empty() {
        let session =
            Session::read(b"A:\n\nB:\n  - X: 1\n    Y:\n  - X: 2\n\nC: \n\nD:\n - Z: 9\n");
        let list = session.root.get("B").expect("B").items();
        assert_eq!(list.len(), 2);
        assert_eq!(list[1].get("X").and_then(Node::text), Some("2"));
        for key in ["A", "C"] {
            assert_eq!(session.root.get(key).and_then(Node::text), Some(""));
        }
        assert_eq!(session.root.get("D").expect("D").items().len(), 1);
        assert!(session.odd_lines.is_empty(), "{:?}", session.odd_lines);
    }

    #[test]
    fn anything_is_read_and_nothing_is_endless() {
        let deep: String = (0..500)
            .map(|depth| format!("{}a:\n", " ".repeat(depth)))
            .collect();
        let deeper = "- ".repeat(3_000) + "a: 1";
        for text in [
            "",
            "...",
            "- a: 1",
            " - a: 1\n- b: 2",
            "a: 1\n  b: 2\n c: 3",
            ":",
            "- - a: 1",
            &deep,
            &deeper,
            "\u{0}\u{1}",
            "a:\n- b: 1\n - c: 2\n  - d: 3",
        ] {
            Session::read(text.as_bytes());
        }
        assert!(Session::read(b"no entry\nnor this").odd_lines.len() == 2);
    }

    #[test]
    fn encodings_are_those_that_the_text_states() {
        let decoded = |bytes: &[u8]| Session::read(bytes).text;
        let cut = "A: Jörg 車".as_bytes();
        assert_eq!(decoded(&cut[..cut.len() - 1]), "A: Jörg \u{FFFD}");
        let half = b"W:\n Encoding: UTF8\n A: J\xC3\xB6rg\n B: \xE8\xBB\n C: x";
        let half = Session::read(half);
        assert!(
            half.text.contains("Jörg\n B: \u{FFFD}\n C: x"),
            "{}",
            half.text
        );
        assert_eq!(half.notes.len(), 1);
        assert_eq!(decoded(b"A: J\xF6rg"), "A: Jörg");
        assert_eq!(decoded("A: Jörg 車".as_bytes()), "A: Jörg 車");
        assert_eq!(decoded(b"A: \x80\x81\x9F"), "A: €\u{81}Ÿ");
        assert_eq!(
            decoded(b"WeekendInfo:\n Encoding: ISO_8859_1\n A: \xC3\xB6"),
            "WeekendInfo:\n Encoding: UTF8\n A: Ã¶"
        );
        assert_eq!(
            decoded("WeekendInfo:\n Encoding: UTF8\n A: ö".as_bytes()),
            "WeekendInfo:\n Encoding: UTF8\n A: ö"
        );
    }
}
