//! `simtel convert`: captures into tables.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Instant;

use anyhow::{anyhow, bail};
use clap::{Args, ValueEnum};

use super::formats::FormatOptions;
use super::inputs::Source;
use super::messages::Messages;
use super::summary::Summary;
use super::{EXIT_STATUS, Outcome, UsageError, inputs, interrupt, memory, progress, values};
use crate::capture::Input;
use crate::decode;
use crate::decode::{
    Cars, ColumnPatterns, Converter, Options, Recording, Selection, TimeBound, TimeRange,
};
use crate::formats::Formats;
use crate::formats::iracing::{self, Session, Survey};
use crate::layout::Layout;
use crate::sink::{Compression, Destination, Encoding, Format, Outputs, SinkOptions};

/// Convert captures to Parquet, CSV, JSON or Arrow tables
///
/// Reads the UDP datagrams of captures, recognises the game and its packets,
/// and writes one tidy table for each kind of packet: one row a packet, or one
/// for each car, zone, lap or stint in it. Recordings of iRacing become tables
/// of their ticks, cars and sub-ticks. Without more options every table of
/// every format goes to DIR/<format>/<table>.parquet.
#[derive(Debug, Args)]
#[command(after_long_help = format!("{EXAMPLES}\n\n{EXIT_STATUS}"))]
pub(super) struct Convert {
    /// Captures: .pcap, .pcapng or .ibt files, also compressed with gzip or
    /// zstd; folders of them; patterns; `-` for standard input
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Folder for the tables; or, for exactly one table, a file or `-` for
    /// standard output
    #[arg(short, long, value_name = "PATH")]
    output: PathBuf,
    /// Format of the output [default: by the ending of PATH, else parquet]
    #[arg(short, long)]
    format: Option<FormatName>,
    /// Tables to write, by name or format/name, with * and ? [default: all]
    #[arg(short, long, value_name = "NAMES", value_delimiter = ',', value_parser = values::pattern)]
    tables: Vec<glob::Pattern>,
    /// Columns to write, with * and ?; keys such as car_index stay unless
    /// excluded with a leading ! [default: all]
    #[arg(
        short,
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    columns: Vec<String>,
    /// Whose rows to write in tables with a row a car
    #[arg(long, default_value = "all")]
    cars: CarsName,
    /// Start here: an offset from each capture's first packet such as 1m30s, or
    /// a moment such as 2026-05-24T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = values::time_bound)]
    from: Option<TimeBound>,
    /// Stop before this time, given like --from
    #[arg(long, value_name = "TIME", value_parser = values::time_bound)]
    until: Option<TimeBound>,
    /// Leave out what was sent while no car was driven: menus and pauses (Forza)
    #[arg(long)]
    driving_only: bool,
    /// Add a column with the name beside each column of ids
    #[arg(long)]
    labels: bool,
    #[command(flatten)]
    formats: FormatOptions,
    /// Compression: zstd, gzip, snappy, lz4 or none, with a level as in zstd:9
    /// [default: zstd:3 for parquet, else none]
    #[arg(long, value_name = "NAME", value_parser = values::compression)]
    compression: Option<Compression>,
    /// Parquet encodings: the smallest files, or files for old readers
    #[arg(long, default_value = "compact")]
    encoding: EncodingName,
    /// Make a folder for each value of these key columns (Hive layout), such as
    /// session_uid or capture
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    partition_by: Vec<String>,
    /// Worker threads [default: as many as there are cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
    /// Leave tables alone whose files exist
    #[arg(long, conflicts_with = "force")]
    skip_existing: bool,
    /// Also write tables that have no rows
    #[arg(long)]
    keep_empty: bool,
    /// Decode the known beginning of packets that are longer than they should be
    #[arg(long)]
    lenient: bool,
    /// Fail at the first damage or unrecognised datagram
    #[arg(long)]
    strict: bool,
    /// Print a report as JSON on standard output
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  simtel convert race.pcap -o out
  simtel convert captures/ -o out --format csv --tables car_telemetry,lap_data --cars player
  simtel convert stint.ibt -o stint.csv --tables ticks --columns 'Speed,RPM,Lap*'
  simtel convert race.pcap -o laps.csv --tables lap_data --columns '*lap*' --labels
  tcpdump -w - udp port 20777 | simtel convert - -o out
  simtel convert race.pcap.zst -o - --tables events --format ndjson | jq .event_code";

/// Endings of files, not folders, that simtel cannot write.
const NOT_FOLDERS: &[&str] = &[
    "db", "gz", "h5", "ibt", "ld", "mat", "pcap", "pcapng", "pq", "sqlite", "tsv", "txt", "xls",
    "xlsx", "zip", "zst",
];

#[derive(Debug, Clone, Copy, ValueEnum)]
enum FormatName {
    Parquet,
    Csv,
    /// One array of objects
    Json,
    /// One object a line
    #[value(alias = "jsonl")]
    Ndjson,
    /// Arrow IPC file; a stream when it goes to standard output
    Arrow,
    /// Arrow IPC stream
    ArrowStream,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum CarsName {
    All,
    /// The player's own
    Player,
    /// Those that take part in the session
    Active,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum EncodingName {
    Compact,
    Portable,
}

impl Convert {
    pub(super) fn run(self, messages: &Messages) -> anyhow::Result<Outcome> {
        let started = Instant::now();
        memory::keep_freed();
        values::check_time_range(self.from, self.until).map_err(UsageError)?;
        let paths = inputs::expand(&self.inputs)?;
        let (mut sources, survey) = inputs::survey(&paths);
        if let [Source::Failed(_)] = sources.as_slice()
            && let Some(Source::Failed(error)) = sources.pop()
        {
            return Err(error.into());
        }
        let formats = self.formats(&sources, &survey)?;
        let selection = self.selection(&formats)?;
        decode::check_partition(&formats, &self.partition_by)
            .map_err(|error| UsageError(error.to_string()))?;
        let names: Vec<String> = paths.iter().map(|path| inputs::name(path)).collect();
        let sink_options = self.sink_options(&paths, &names)?;
        check_single_table(&sink_options.destination, &selection, &formats)?;
        let outputs = Outputs::new(sink_options);
        let options = Options {
            formats: formats.clone(),
            selection,
            time: TimeRange {
                from: self.from,
                until: self.until,
            },
            threads: self
                .threads
                .map_or_else(values::default_threads, usize::from),
            partition_by: self.partition_by.clone(),
            keep_empty: self.keep_empty,
            lenient: self.lenient,
            driving_only: self.driving_only,
            strict: self.strict,
        };

        let interrupted = interrupt::watch();
        let bar = progress::bar(&paths, messages);
        let mut converter = Converter::new(options, &names, &outputs)?;
        let mut done = 0;
        for ((path, name), source) in paths.iter().zip(&names).zip(sources) {
            let mut progress = |progress: decode::Progress| {
                bar.set_position(done + progress.position);
                bar.set_message(format!("{} rows", values::count(progress.rows)));
                match interrupted.load(Ordering::Relaxed) {
                    false => Ok(true),
                    // An interrupt is how a live capture ends.
                    true if inputs::is_stdin(path) => Ok(false),
                    true => Err(anyhow!("interrupted; nothing was written")),
                }
            };
            match source.open(path) {
                Ok(Input::Datagrams(capture)) => {
                    let size = capture.size().unwrap_or(0);
                    converter.add(name, *capture, &mut progress)?;
                    done += size;
                }
                Ok(Input::Ticks(ticks)) => {
                    let recording = Recording {
                        session: Session::read(ticks.session()),
                        layout: survey.layout(&ticks),
                        left_out: survey.left_out(&ticks),
                        ticks: *ticks,
                    };
                    converter.add_ticks(name, &recording, &mut progress)?;
                    done += recording.ticks.size().unwrap_or(0);
                }
                // One bad file does not spoil a batch.
                Err(error) if paths.len() > 1 && !self.strict => {
                    converter.add_failed(name, error.to_string());
                }
                Err(error) => return Err(error.into()),
            }
        }
        let report = converter.finish()?;
        if interrupted.load(Ordering::Relaxed) && !paths.iter().any(|path| inputs::is_stdin(path)) {
            bail!("interrupted; nothing was written");
        }
        let written = outputs.finish()?;
        bar.finish_and_clear();

        let outcome = Summary {
            formats: &formats,
            report: &report,
            written: &written,
            elapsed: started.elapsed(),
        };
        match self.json {
            true => outcome.print_json()?,
            false => outcome.print(messages),
        }
        outcome.outcome(messages)
    }

    /// The formats to expect of these inputs.
    fn formats(&self, sources: &[Source], survey: &Survey) -> anyhow::Result<Formats> {
        let formats = self.formats.formats()?;
        let Some(layout) = survey.first_layout() else {
            return Ok(formats);
        };
        let is_capture =
            |source: &Source| !source.has_ticks() && !matches!(source, Source::Failed(_));
        Ok(match sources.iter().any(is_capture) {
            true => formats.with_ticks(layout),
            false => Formats::only_ticks(layout),
        })
    }

    fn selection(&self, formats: &Formats) -> anyhow::Result<Selection> {
        let mut columns = ColumnPatterns::default();
        for name in self.columns.iter().map(|name| name.trim()) {
            let (list, name) = match name.strip_prefix('!') {
                Some(name) => (&mut columns.excluded, name),
                None => (&mut columns.included, name),
            };
            let pattern = values::pattern(name)
                .map_err(|error| UsageError(format!("--columns {name}: {error}")))?;
            list.push(pattern);
        }
        let selection = Selection {
            tables: self.tables.clone(),
            columns,
            cars: match self.cars {
                CarsName::All => Cars::All,
                CarsName::Player => Cars::Player,
                CarsName::Active => Cars::Active,
            },
            labels: self.labels,
        };
        // A misspelt name would silently select nothing.
        for pattern in &self.tables {
            let one = Selection {
                tables: vec![pattern.clone()],
                ..Selection::default()
            };
            let mut layouts = formats.layouts().iter();
            if !layouts.any(|layout| takes_anything(&one, layout)) {
                let tables = formats.layouts().iter().flat_map(|layout| &layout.tables);
                let names = tables.map(|table| table.name.as_str());
                return Err(UsageError(values::unknown("table", pattern.as_str(), names)).into());
            }
        }
        let tables = || formats.layouts().iter().flat_map(|layout| &layout.tables);
        for pattern in &selection.columns.included {
            let mut columns = tables().flat_map(|table| &table.columns);
            if !columns.any(|column| decode::names(pattern, column)) {
                let columns = tables().flat_map(|table| &table.columns);
                let names = columns.map(|column| column.name.as_str());
                return Err(UsageError(values::unknown("column", pattern.as_str(), names)).into());
            }
        }
        let mut layouts = formats.layouts().iter();
        if !layouts.any(|layout| takes_anything(&selection, layout)) {
            let message = "no table has a column that --columns leaves over; keys such as car_index \
                           are in every table and need not be named";
            return Err(UsageError(message.into()).into());
        }
        Ok(selection)
    }

    /// Catches the outputs that could only be meant otherwise.
    fn check_output(
        &self,
        format: Option<Format>,
        compression: Option<Compression>,
    ) -> anyhow::Result<()> {
        let output = self.output.display();
        let extension = self
            .output
            .extension()
            .unwrap_or_default()
            .to_string_lossy();
        let complaint = if self.output.is_file() && format.is_none() {
            format!("{output} is a file: give a folder to -o, or a file with a known ending")
        } else if !self.output.is_dir()
            && NOT_FOLDERS.contains(&extension.as_ref())
            && format.is_none()
        {
            format!("{output} has the ending of no output that simtel writes")
        } else if compression.is_some() && format.is_some_and(|format| !format.is_text()) {
            format!("{output} would be compressed twice: leave out the last ending")
        } else {
            return Ok(());
        };
        Err(UsageError(format!(
            "{complaint}. Files end in .parquet, .csv, .json, .ndjson, .arrow or .arrows; text \
             files also in .gz or .zst"
        ))
        .into())
    }

    fn sink_options(&self, paths: &[PathBuf], names: &[String]) -> anyhow::Result<SinkOptions> {
        let (implied, implied_compression) = by_extension(&self.output);
        self.check_output(implied, implied_compression)?;
        let destination = if self.output.as_os_str() == "-" {
            Destination::Stdout
        } else if implied.is_some() && !self.output.is_dir() {
            Destination::File(self.output.clone())
        } else {
            Destination::Folder(self.output.clone())
        };
        let format = match (self.format, implied) {
            (Some(FormatName::Parquet), _) => Format::Parquet,
            (Some(FormatName::Csv), _) => Format::Csv,
            (Some(FormatName::Json), _) => Format::Json,
            (Some(FormatName::Ndjson), _) => Format::Ndjson,
            // Only a stream can be read while it is written.
            (Some(FormatName::Arrow), _) if destination == Destination::Stdout => {
                Format::ArrowStream
            }
            (Some(FormatName::Arrow), _) => Format::Arrow,
            (Some(FormatName::ArrowStream), _) => Format::ArrowStream,
            (None, Some(implied)) => implied,
            (None, None) => Format::Parquet,
        };
        let compression = self
            .compression
            .or(implied_compression)
            .unwrap_or(format.default_compression());
        if !format.allows(compression) {
            return Err(UsageError(format!(
                "{} files are not compressed in this way: {}",
                format.extension(),
                "parquet takes zstd, gzip, snappy, lz4 or none; csv, json and ndjson take zstd, \
                 gzip or none; arrow takes zstd, lz4 or none"
            ))
            .into());
        }
        if let Destination::File(output) = &destination
            && let Ok(output) = output.canonicalize()
            && paths
                .iter()
                .any(|path| path.canonicalize().is_ok_and(|path| path == output))
        {
            return Err(UsageError(format!(
                "{} is an input; the output must go elsewhere",
                output.display()
            ))
            .into());
        }
        if !self.partition_by.is_empty() && !matches!(destination, Destination::Folder(_)) {
            let message = "--partition-by makes folders: give a folder to -o";
            return Err(UsageError(message.into()).into());
        }
        if self.json && destination == Destination::Stdout {
            let message = "--json and `-o -` both want standard output: give a file to -o";
            return Err(UsageError(message.into()).into());
        }
        let to_terminal = std::io::IsTerminal::is_terminal(&std::io::stdout());
        let is_binary = matches!(
            format,
            Format::Parquet | Format::Arrow | Format::ArrowStream
        );
        if destination == Destination::Stdout && to_terminal && is_binary {
            return Err(UsageError(format!(
                "{} is not for a terminal: redirect standard output, or use --format csv",
                format.extension()
            ))
            .into());
        }
        Ok(SinkOptions {
            destination,
            format,
            compression,
            encoding: match self.encoding {
                EncodingName::Compact => Encoding::Compact,
                EncodingName::Portable => Encoding::Portable,
            },
            force: self.force,
            skip_existing: self.skip_existing,
            keep_empty: self.keep_empty,
            inputs: names.to_vec(),
        })
    }
}

/// What the ending of an output file says of its format and compression.
fn by_extension(path: &Path) -> (Option<Format>, Option<Compression>) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = name.to_lowercase();
    let (name, compression) = match (name.strip_suffix(".gz"), name.strip_suffix(".zst")) {
        (Some(name), _) => (name, Some(Compression::Gzip(6))),
        (_, Some(name)) => (name, Some(Compression::Zstandard(3))),
        _ => (name.as_str(), None),
    };
    let format = match name.rsplit_once('.').map(|(_, extension)| extension) {
        Some("parquet") => Some(Format::Parquet),
        Some("csv") => Some(Format::Csv),
        Some("json") => Some(Format::Json),
        Some("ndjson" | "jsonl") => Some(Format::Ndjson),
        Some("arrow" | "feather") => Some(Format::Arrow),
        Some("arrows") => Some(Format::ArrowStream),
        _ => None,
    };
    (format, compression)
}

/// Whether anything of a format is wanted: a table, or the text beside them.
fn takes_anything(selection: &Selection, layout: &Layout) -> bool {
    let mut tables = layout.tables.iter();
    let has_document = layout.name == iracing::NAME;
    tables.any(|table| selection.takes_table(layout, table))
        || has_document && selection.takes_name(layout, iracing::DOCUMENT)
}

/// A file or stream holds one table; which one must be clear beforehand if no
/// format could make it so.
fn check_single_table(
    destination: &Destination,
    selection: &Selection,
    formats: &Formats,
) -> anyhow::Result<()> {
    if let Destination::Folder(_) = destination {
        return Ok(());
    }
    let wanted = |layout: &std::sync::Arc<Layout>| -> Vec<String> {
        let tables = layout.tables.iter();
        let tables = tables.filter(|table| selection.takes_table(layout, table));
        tables.map(|table| table.name.clone()).collect()
    };
    let counts: Vec<Vec<String>> = formats.layouts().iter().map(wanted).collect();
    match counts
        .iter()
        .filter(|tables| !tables.is_empty())
        .min_by_key(|tables| tables.len())
    {
        Some(tables) if tables.len() > 1 => Err(UsageError(format!(
            "one file or stream holds one table: choose one with --tables, such as \
             `--tables {}`, or give a folder to -o",
            tables[0]
        ))
        .into()),
        _ => Ok(()),
    }
}
