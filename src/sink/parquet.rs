//! Parquet files. Row groups are encoded in parallel, the columns of one by one
//! thread; encodings follow from the columns' types.

use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::RecordBatch;
use arrow::datatypes::{DataType, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression as ParquetCompression, Encoding as Parquet};
use parquet::basic::{GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use super::file::{Completed, OutputFile};
use super::{Compression, Encoding, FileSink};
use crate::decode::{Append, TablePlan, TableSink};
use crate::lock::lock;

pub(super) struct ParquetSink {
    schema: SchemaRef,
    factory: ArrowRowGroupWriterFactory,
    writer: Mutex<Option<SerializedFileWriter<OutputFile>>>,
}

impl ParquetSink {
    pub(super) fn open(
        file: OutputFile,
        plan: &TablePlan,
        compression: Compression,
        encoding: Encoding,
        metadata: Vec<(String, String)>,
    ) -> anyhow::Result<ParquetSink> {
        let properties = properties(plan, compression, encoding, metadata)?;
        let schema = &plan.schema;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties))?;
        let (writer, factory) = writer.into_serialized_writer()?;
        Ok(ParquetSink {
            schema: schema.clone(),
            factory,
            writer: Mutex::new(Some(writer)),
        })
    }
}

impl TableSink for ParquetSink {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        // The number of the row group matters to encrypted files only.
        let writers = self.factory.create_column_writers(0)?;
        let columns = self.schema.fields().iter().zip(batch.columns());
        let chunks = writers
            .into_iter()
            .zip(columns)
            .map(|(mut writer, (field, array))| {
                for leaf in compute_leaves(field, array)? {
                    writer.write(&leaf)?;
                }
                writer.close()
            })
            .collect::<Result<Vec<_>, _>>()?;
        drop(batch);
        Ok(Box::new(move || {
            let mut writer = lock(&self.writer);
            let writer = writer.as_mut().ok_or_else(|| anyhow!("file is closed"))?;
            let mut row_group = writer.next_row_group()?;
            for chunk in chunks {
                chunk.append_to_row_group(&mut row_group)?;
            }
            row_group.close()?;
            Ok(())
        }))
    }
}

impl FileSink for ParquetSink {
    fn finish(&self) -> anyhow::Result<Completed> {
        let writer = lock(&self.writer).take();
        let writer = writer.ok_or_else(|| anyhow!("file is closed"))?;
        writer.into_inner()?.complete()
    }
}

fn properties(
    plan: &TablePlan,
    compression: Compression,
    encoding: Encoding,
    metadata: Vec<(String, String)>,
) -> anyhow::Result<WriterProperties> {
    let compression = match compression {
        Compression::None => ParquetCompression::UNCOMPRESSED,
        Compression::Snappy => ParquetCompression::SNAPPY,
        Compression::Lz4 => ParquetCompression::LZ4_RAW,
        Compression::Gzip(level) => ParquetCompression::GZIP(GzipLevel::try_new(level)?),
        Compression::Zstandard(level) => ParquetCompression::ZSTD(ZstdLevel::try_new(level)?),
    };
    let mut properties = WriterProperties::builder()
        .set_created_by(format!("simtel version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(compression)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // Pages end by their size alone: cut at the usual 20,000 rows, the
        // files of a race are half as large again, and no faster to write.
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 14)
        .set_key_value_metadata(Some(
            metadata
                .into_iter()
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
        ));
    for (position, field) in plan.schema.fields().iter().enumerate() {
        let path = ColumnPath::from(field.name().as_str());
        let kind = field.data_type();
        let (compact, portable) = match kind {
            // A dictionary almost doubles real telemetry's floats, and
            // splitting their bytes saves a quarter on top.
            DataType::Float32 | DataType::Float64 => {
                (Some(Parquet::BYTE_STREAM_SPLIT), Some(Parquet::PLAIN))
            }
            // Clocks and counters go up by small steps, and keys repeat from
            // row to row: their deltas are next to nothing.
            DataType::Timestamp(..) | DataType::UInt32 | DataType::Int32 => {
                (Some(Parquet::DELTA_BINARY_PACKED), None)
            }
            _ if kind.is_integer() && plan.is_key(position) => {
                (Some(Parquet::DELTA_BINARY_PACKED), None)
            }
            // Split bytes are faster to make than a dictionary (a whole
            // conversion takes a seventh less time) and smaller by a twelfth.
            _ if kind.is_integer() => (Some(Parquet::BYTE_STREAM_SPLIT), None),
            _ => (None, None),
        };
        let chosen = match encoding {
            Encoding::Compact => compact,
            Encoding::Portable => portable,
        };
        if let Some(chosen) = chosen {
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, chosen);
        }
    }
    Ok(properties.build())
}
