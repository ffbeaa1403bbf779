//! The parts of a conversion, each alone and on one thread: finding and recognising
//! datagrams, gathering columns, and each sink.
//!
//! `cargo bench --bench parts`

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use arrow::array::RecordBatch;
use divan::counter::{BytesCount, ItemsCount};
use divan::{Bencher, black_box};
use simtel::capture::Capture;
use simtel::decode::{
    Append, Converter, Options, Selection, Sinks, TablePlan, TableSink, TimeRange,
};
use simtel::formats::Formats;
use simtel::layout::Layout;
use simtel::sink::{Compression, Destination, Encoding, Format, Outputs, SinkOptions};

fn main() {
    divan::main();
}

/// Times that the sample is read, so that batches are of a usual size.
const TIMES: usize = 40;

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("samples/f1_2025.pcap")
}

/// Takes batches and does nothing with them, or keeps them.
#[derive(Default)]
struct Taken {
    keeps: bool,
    tables: Mutex<Vec<(Arc<TablePlan>, Arc<TakenTable>)>>,
}

#[derive(Default)]
struct TakenTable {
    keeps: bool,
    batches: Mutex<Vec<RecordBatch>>,
}

impl TableSink for TakenTable {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        match self.keeps {
            true => self.batches.lock().expect("no panic before").push(batch),
            false => drop(black_box(batch)),
        }
        Ok(Box::new(|| Ok(())))
    }
}

impl Sinks for Taken {
    fn announce(&self, _tables: &[Arc<TablePlan>]) -> anyhow::Result<()> {
        Ok(())
    }

    fn open(
        &self,
        plan: &Arc<TablePlan>,
        _partition: &[(String, String)],
    ) -> anyhow::Result<Option<Arc<dyn TableSink>>> {
        let table = Arc::new(TakenTable {
            keeps: self.keeps,
            ..TakenTable::default()
        });
        let mut tables = self.tables.lock().expect("no panic before");
        tables.push((plan.clone(), table.clone()));
        Ok(Some(table))
    }

    fn document(&self, _layout: &Layout, _name: &str, _text: &str) -> anyhow::Result<()> {
        Ok(())
    }

    fn rows_per_batch(&self) -> usize {
        1 << 18
    }
}

/// Converts the sample again and again; says how many rows that gives.
fn convert(sinks: &dyn Sinks) -> u64 {
    let options = Options {
        formats: Formats::built_in(),
        selection: Selection::default(),
        time: TimeRange::default(),
        threads: 1,
        partition_by: Vec::new(),
        keep_empty: false,
        lenient: false,
        driving_only: false,
        strict: false,
    };
    let mut converter = Converter::new(options, &["sample".into()], sinks).expect("can start");
    for _ in 0..TIMES {
        let capture = Capture::open(&sample()).expect("a sample");
        let added = converter.add("sample", capture, &mut |_| Ok(true));
        added.expect("a sample is whole");
    }
    converter.finish().expect("nothing is written").rows
}

#[divan::bench]
fn index(bencher: Bencher<'_, '_>) {
    let formats = Formats::built_in();
    let size = std::fs::metadata(sample()).expect("a sample").len();
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        let mut capture = Capture::open(&sample()).expect("a sample");
        while let Some(datagram) = capture.next_datagram().expect("a sample is whole") {
            black_box(formats.recognise(datagram.payload, datagram.destination.port()));
        }
    });
}

#[divan::bench]
fn gather(bencher: Bencher<'_, '_>) {
    let rows = convert(&Taken::default());
    bencher
        .counter(ItemsCount::new(rows))
        .bench_local(|| convert(&Taken::default()));
}

/// What is written of a table: the batches of the sample's largest.
#[divan::bench(args = ["parquet", "csv", "json", "ndjson", "arrow"])]
fn sink(bencher: Bencher<'_, '_>, format: &str) {
    let taken = Taken {
        keeps: true,
        ..Taken::default()
    };
    convert(&taken);
    let tables = taken.tables.lock().expect("no panic before");
    let (plan, table) = tables
        .iter()
        .find(|(plan, _)| plan.table().name == "car_telemetry")
        .expect("the sample has one");
    let batches = table.batches.lock().expect("no panic before");
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    let folder = tempfile::tempdir().expect("a folder");
    let (format, compression) = match format {
        "parquet" => (Format::Parquet, Compression::Zstandard(1)),
        "csv" => (Format::Csv, Compression::None),
        "json" => (Format::Json, Compression::None),
        "ndjson" => (Format::Ndjson, Compression::None),
        _ => (Format::Arrow, Compression::None),
    };
    bencher.counter(ItemsCount::new(rows)).bench_local(|| {
        let outputs = Outputs::new(SinkOptions {
            destination: Destination::Folder(folder.path().into()),
            format,
            compression,
            encoding: Encoding::Compact,
            force: true,
            skip_existing: false,
            keep_empty: false,
            inputs: Vec::new(),
        });
        let sink = outputs.open(plan, &[]).expect("can write").expect("wanted");
        for batch in batches.iter() {
            let append = sink.clone().encode(batch.clone()).expect("can encode");
            append().expect("can write");
        }
        drop(sink);
        outputs.finish().expect("can write")
    });
}
