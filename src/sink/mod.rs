//! Where tables go: files in a folder, one file, or standard output, as
//! Parquet, CSV, JSON or Arrow. Nothing appears under its final name before
//! everything is written.

mod arrow;
mod csv;
mod file;
mod json;
mod parquet;
mod text;

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ::arrow::array::RecordBatch;
use ::arrow::datatypes::DataType;
use anyhow::{Context, bail};
use serde_json::{Map, Value, json};

use crate::decode::{Append, Sinks, TablePlan, TableReport, TableSink};
use crate::layout::Layout;
use crate::lock::lock;
use file::{Completed, OutputFile};

/// Version of the shape of the metadata and of `schema.json`.
const SCHEMA_VERSION: u32 = 1;

/// The format of the output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    Parquet,
    Csv,
    /// One array of objects.
    Json,
    /// One object a line.
    Ndjson,
    /// Arrow IPC file.
    Arrow,
    /// Arrow IPC stream.
    ArrowStream,
}

impl Format {
    /// The ending of its files, without compression.
    pub fn extension(self) -> &'static str {
        match self {
            Format::Parquet => "parquet",
            Format::Csv => "csv",
            Format::Json => "json",
            Format::Ndjson => "ndjson",
            Format::Arrow => "arrow",
            Format::ArrowStream => "arrows",
        }
    }

    /// Whether its files are text.
    pub fn is_text(self) -> bool {
        matches!(self, Format::Csv | Format::Json | Format::Ndjson)
    }

    /// Whether its files can be compressed in this way.
    pub fn allows(self, compression: Compression) -> bool {
        match compression {
            Compression::None | Compression::Zstandard(_) => true,
            Compression::Snappy => self == Format::Parquet,
            Compression::Gzip(_) => self.is_text() || self == Format::Parquet,
            Compression::Lz4 => !self.is_text(),
        }
    }

    pub fn default_compression(self) -> Compression {
        match self {
            Format::Parquet => Compression::Zstandard(3),
            _ => Compression::None,
        }
    }
}

/// How the output is compressed, with a level where there is one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    None,
    Snappy,
    Lz4,
    Gzip(u32),
    Zstandard(i32),
}

impl Compression {
    /// The ending that a compressed text file gets.
    fn extension(self) -> &'static str {
        match self {
            Compression::Gzip(_) => ".gz",
            Compression::Zstandard(_) => ".zst",
            Compression::None | Compression::Snappy | Compression::Lz4 => "",
        }
    }
}

/// How Parquet columns are encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoding {
    /// The smallest files.
    Compact,
    /// For readers that know only the old encodings.
    Portable,
}

/// Where the output goes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// A file for each table below this folder.
    Folder(PathBuf),
    /// The only table.
    File(PathBuf),
    /// The only table.
    Stdout,
}

/// How to write.
#[derive(Debug, Clone)]
pub struct SinkOptions {
    pub destination: Destination,
    pub format: Format,
    pub compression: Compression,
    pub encoding: Encoding,
    /// Replace files that exist.
    pub force: bool,
    /// Leave tables alone whose files exist.
    pub skip_existing: bool,
    /// Also write tables that have no rows.
    pub keep_empty: bool,
    /// Names of the inputs, for the metadata.
    pub inputs: Vec<String>,
}

/// A table file that is complete when asked.
trait FileSink: TableSink {
    fn finish(&self) -> anyhow::Result<Completed>;
}

/// All outputs of a conversion.
pub struct Outputs {
    options: SinkOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Every table that could be written, by `format/table`.
    announced: BTreeMap<String, Arc<TablePlan>>,
    open: Vec<OpenTable>,
    /// Texts beside the tables.
    documents: Vec<(PathBuf, Completed)>,
    skipped: Vec<String>,
}

struct OpenTable {
    plan: Arc<TablePlan>,
    path: Option<PathBuf>,
    sink: Arc<Counted>,
}

/// Counts the rows on their way into a table.
struct Counted {
    sink: Arc<dyn FileSink>,
    rows: AtomicU64,
}

impl TableSink for Counted {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        self.rows
            .fetch_add(batch.num_rows() as u64, Ordering::Relaxed);
        self.sink.clone().encode(batch)
    }
}

/// What a conversion has written.
#[derive(Debug, Default)]
pub struct Written {
    pub tables: Vec<TableReport>,
    /// Path and length of the texts beside the tables.
    pub documents: Vec<(String, u64)>,
    /// Tables that were left alone because they exist.
    pub skipped: Vec<String>,
}

impl Outputs {
    pub fn new(options: SinkOptions) -> Outputs {
        Outputs {
            options,
            state: Mutex::default(),
        }
    }

    /// Completes all files, then gives them their names.
    ///
    /// # Errors
    /// If anything cannot be written; then no file has got its name, unless
    /// renaming itself failed half way.
    pub fn finish(self) -> anyhow::Result<Written> {
        let state = self
            .state
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let mut written = Written {
            skipped: state.skipped,
            ..Written::default()
        };
        let mut completed = Vec::new();
        let mut described = Vec::new();
        for table in &state.open {
            let rows = table.sink.rows.load(Ordering::Relaxed);
            // Packets may have come without giving any row.
            if rows == 0 && !self.options.keep_empty && table.path.is_some() {
                continue;
            }
            described.push(table);
            let file = table
                .sink
                .sink
                .finish()
                .with_context(|| table.plan.qualified_name())?;
            written.tables.push(TableReport {
                format: table.plan.layout.name.clone(),
                table: table.plan.table().name.clone(),
                path: match &table.path {
                    Some(path) => path.display().to_string(),
                    None => "-".into(),
                },
                rows,
                bytes: file.written,
            });
            completed.push(file);
        }
        if self.options.format.is_text() {
            completed.extend(sidecars(&self.options, &described)?);
        }
        for (path, file) in state.documents {
            let path = path.display().to_string();
            written.documents.push((path, file.written));
            completed.push(file);
        }
        for file in completed {
            file.publish()?;
        }
        written
            .tables
            .sort_by(|a, b| (&a.format, &a.table, &a.path).cmp(&(&b.format, &b.table, &b.path)));
        Ok(written)
    }

    /// Where a table goes; `None` for standard output.
    fn path(&self, plan: &TablePlan, partition: &[(String, String)]) -> Option<PathBuf> {
        let options = &self.options;
        match &options.destination {
            Destination::Stdout => None,
            Destination::File(path) => Some(path.clone()),
            Destination::Folder(folder) => {
                let extension = options.format.extension();
                let packed = match options.format.is_text() {
                    true => options.compression.extension(),
                    false => "",
                };
                let folder = folder.join(&plan.layout.name);
                let name = &plan.table().name;
                Some(match partition {
                    [] => folder.join(format!("{name}.{extension}{packed}")),
                    levels => levels
                        .iter()
                        .fold(folder.join(name), |folder, (key, value)| {
                            folder.join(format!("{key}={}", folder_name(value)))
                        })
                        .join(format!("part-0.{extension}{packed}")),
                })
            }
        }
    }
}

/// Several tables are wanted where only one can go.
#[derive(Debug, thiserror::Error)]
#[error(
    "one file or stream holds one table: choose one with `--tables`, or give a folder to -o. \
     There are {0}"
)]
pub struct OnlyOneTable(String);

impl Sinks for Outputs {
    fn announce(&self, tables: &[Arc<TablePlan>]) -> anyhow::Result<()> {
        let mut state = lock(&self.state);
        for plan in tables {
            state.announced.insert(plan.qualified_name(), plan.clone());
        }
        let is_single = !matches!(self.options.destination, Destination::Folder(_));
        if is_single && state.announced.len() > 1 {
            let names: Vec<&str> = state.announced.keys().map(String::as_str).collect();
            return Err(OnlyOneTable(names.join(", ")).into());
        }
        if self.options.force || self.options.skip_existing {
            return Ok(());
        }
        for plan in tables {
            if let Some(path) = self.path(plan, &[]) {
                refuse_existing(&path)?;
                // The folder of a partitioned table has the table's name.
                if let Destination::Folder(_) = self.options.destination {
                    refuse_existing(&path.with_file_name(&plan.table().name))?;
                }
            }
        }
        Ok(())
    }

    fn open(
        &self,
        plan: &Arc<TablePlan>,
        partition: &[(String, String)],
    ) -> anyhow::Result<Option<Arc<dyn TableSink>>> {
        let options = &self.options;
        let path = self.path(plan, partition);
        let mut state = lock(&self.state);
        let file = match &path {
            Some(path) if options.skip_existing && path.exists() => {
                state.skipped.push(path.display().to_string());
                return Ok(None);
            }
            Some(path) => OutputFile::create(path, options.force)?,
            None => OutputFile::stdout(),
        };
        let metadata = metadata(plan, &options.inputs);
        let schema = &plan.schema;
        let compression = options.compression;
        let json = |as_array| json::Json::new(schema, as_array);
        let sink: Arc<dyn FileSink> = match options.format {
            Format::Parquet => Arc::new(parquet::ParquetSink::open(
                file,
                plan,
                compression,
                options.encoding,
                metadata,
            )?),
            Format::Csv => Arc::new(text::TextSink::open(
                file,
                compression,
                csv::Csv::new(schema.clone()),
            )?),
            Format::Json => Arc::new(text::TextSink::open(file, compression, json(true))?),
            Format::Ndjson => Arc::new(text::TextSink::open(file, compression, json(false))?),
            Format::Arrow | Format::ArrowStream => Arc::new(arrow::ArrowSink::open(
                file,
                schema,
                compression,
                options.format == Format::ArrowStream,
                metadata,
            )?),
        };
        let sink = Arc::new(Counted {
            sink,
            rows: AtomicU64::new(0),
        });
        state.open.push(OpenTable {
            plan: plan.clone(),
            path,
            sink: sink.clone(),
        });
        Ok(Some(sink))
    }

    fn document(&self, layout: &Layout, name: &str, text: &str) -> anyhow::Result<()> {
        let options = &self.options;
        let Destination::Folder(folder) = &options.destination else {
            return Ok(());
        };
        let mut path = folder.join(&layout.name);
        path.extend(name.split('/'));
        let mut state = lock(&self.state);
        if options.skip_existing && path.exists() {
            state.skipped.push(path.display().to_string());
            return Ok(());
        }
        if !options.force {
            refuse_existing(&path)?;
        }
        let mut file = OutputFile::create(&path, options.force)?;
        file.write_all(text.as_bytes())?;
        state.documents.push((path, file.complete()?));
        Ok(())
    }

    fn rows_per_batch(&self) -> usize {
        // Text takes some twenty times the room of encoded columns; little of it at a
        // time goes to the file from the cache.
        match self.options.format.is_text() {
            true => 1 << 12,
            false => 1 << 18,
        }
    }
}

fn refuse_existing(path: &Path) -> anyhow::Result<()> {
    if path.exists() {
        bail!(
            "{} exists already: use --force to replace what is written anew, --skip-existing to keep \
             what is there and add the rest, or another -o",
            path.display()
        );
    }
    Ok(())
}

/// A value as the name of a folder, whatever characters it has.
fn folder_name(value: &str) -> String {
    let mut name = String::new();
    for byte in value.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => name.push(byte.into()),
            _ => name.push_str(&format!("%{byte:02X}")),
        }
    }
    name
}

/// What every file says of itself.
fn metadata(plan: &TablePlan, inputs: &[String]) -> Vec<(String, String)> {
    let of_layout = plan.layout.metadata.iter();
    let of_layout = of_layout.map(|(key, value)| (format!("simtel.{key}"), value.clone()));
    let fields = plan.schema.fields().iter();
    let columns: Map<String, Value> = fields
        .map(|field| {
            let mut said: Vec<(&String, &String)> = field.metadata().iter().collect();
            said.sort();
            let said = said
                .into_iter()
                .map(|(key, value)| (key.clone(), json!(value)));
            (field.name().clone(), Value::Object(said.collect()))
        })
        .collect();
    let own = [
        ("simtel.version".into(), env!("CARGO_PKG_VERSION").into()),
        ("simtel.schema_version".into(), SCHEMA_VERSION.to_string()),
        ("simtel.format".into(), plan.layout.name.clone()),
        ("simtel.game".into(), plan.layout.title.clone()),
        ("simtel.table".into(), plan.table().name.clone()),
        ("simtel.inputs".into(), json!(inputs).to_string()),
        ("simtel.columns".into(), Value::Object(columns).to_string()),
    ];
    own.into_iter().chain(of_layout).collect()
}

/// Describes the columns of text files, which cannot do so themselves: a
/// `schema.json` in each format's folder, or one beside the only file. Tables
/// that an earlier run has described stay described.
fn sidecars(options: &SinkOptions, tables: &[&OpenTable]) -> anyhow::Result<Vec<Completed>> {
    let mut files: BTreeMap<PathBuf, Vec<&OpenTable>> = BTreeMap::new();
    for table in tables {
        let path = match &options.destination {
            Destination::Stdout => continue,
            Destination::Folder(folder) => folder.join(&table.plan.layout.name).join("schema.json"),
            Destination::File(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.with_file_name(format!("{name}.schema.json"))
            }
        };
        files.entry(path).or_default().push(*table);
    }
    let mut completed = Vec::new();
    for (path, tables) in files {
        let known = std::fs::read(&path).ok();
        let known: Option<Value> = known.and_then(|text| serde_json::from_slice(&text).ok());
        let mut described = match known.as_ref().and_then(|known| known["tables"].as_object()) {
            Some(tables) => tables.clone(),
            None => Map::new(),
        };
        for table in &tables {
            let columns: Vec<Value> = table.plan.schema.fields().iter().map(describe).collect();
            described.insert(
                table.plan.table().name.clone(),
                json!({ "columns": columns }),
            );
        }
        let format = tables.first().map(|table| &table.plan.layout);
        let schema = json!({
            "schema_version": SCHEMA_VERSION,
            "simtel": env!("CARGO_PKG_VERSION"),
            "format": format.map(|layout| &layout.name),
            "game": format.map(|layout| &layout.title),
            "tables": described,
        });
        let mut file = OutputFile::create(&path, true)?;
        serde_json::to_writer_pretty(&mut file, &schema)?;
        completed.push(file.complete()?);
    }
    Ok(completed)
}

fn describe(field: &Arc<::arrow::datatypes::Field>) -> Value {
    let mut column = Map::new();
    column.insert("name".into(), json!(field.name()));
    column.insert("type".into(), json!(type_name(field.data_type())));
    column.insert("nullable".into(), json!(field.is_nullable()));
    for key in ["unit", "description", "official_name", "enum"] {
        if let Some(value) = field.metadata().get(key) {
            column.insert(key.into(), json!(value));
        }
    }
    Value::Object(column)
}

/// The name of a column's type in `schema.json` and for people.
pub fn type_name(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::UInt8 => "uint8",
        DataType::Int8 => "int8",
        DataType::UInt16 => "uint16",
        DataType::Int16 => "int16",
        DataType::UInt32 => "uint32",
        DataType::Int32 => "int32",
        DataType::UInt64 => "uint64",
        DataType::Int64 => "int64",
        DataType::Boolean => "bool",
        DataType::Float32 => "float32",
        DataType::Float64 => "float64",
        DataType::Timestamp(..) => "timestamp[ns, UTC]",
        _ => "string",
    }
}
