//! Parquet files. Row groups are encoded in parallel, the columns of one by one
//! thread: numbers in `chunk`, everything else by the parquet crate.

mod chunk;
mod delta;
mod pack;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{
    ArrowColumnChunk, ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves,
};
use parquet::basic::Compression as ParquetCompression;
use parquet::basic::{GzipLevel, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnDescPtr;

use super::file::{Completed, OutputFile};
use super::{Compression, Encoding, FileSink};
use crate::decode::{Append, TablePlan, TableSink, as_wide_as};
use crate::lock::lock;
use chunk::{Chunk, ChunkEncoder};
use pack::Packer;

pub(super) struct ParquetSink {
    schema: SchemaRef,
    compression: Compression,
    encoding: Encoding,
    columns: Vec<ColumnDescPtr>,
    /// Positions of the columns that the parquet crate may have to encode, and what
    /// makes its encoders: one with a compressor of its own for each column of each
    /// row group, which would be for nothing in most.
    others: Vec<usize>,
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
        let properties = properties(compression, metadata)?;
        let schema = &plan.schema;
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties.clone()))?;
        let (writer, _) = writer.into_serialized_writer()?;
        let fields = schema.fields().iter().enumerate();
        let others = fields.filter(|(_, field)| !chunk::takes(field.data_type(), encoding));
        let others: Vec<usize> = others.map(|(position, _)| position).collect();
        let of_others = Arc::new(schema.project(&others)?);
        let factory = ArrowWriter::try_new(std::io::sink(), of_others, Some(properties))?;
        let (_, factory) = factory.into_serialized_writer()?;
        Ok(ParquetSink {
            others,
            compression,
            encoding,
            columns: writer.schema_descr().columns().to_vec(),
            schema: schema.clone(),
            factory,
            writer: Mutex::new(Some(writer)),
        })
    }
}

impl TableSink for ParquetSink {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        let mut encoder = ChunkEncoder::new(
            self.encoding,
            codec(self.compression)?,
            Packer::new(self.compression)?,
        );
        let mut others: Option<HashMap<usize, ArrowColumnWriter>> = None;
        let mut columns = Vec::with_capacity(batch.num_columns());
        for (position, array) in batch.columns().iter().enumerate() {
            let field = &self.schema.fields()[position];
            columns.push(match encoder.encode(&self.columns[position], array)? {
                Some(chunk) => EncodedColumn::Numbers(chunk),
                None => {
                    if others.is_none() {
                        // The number of the row group matters to encrypted files only.
                        let writers = self.factory.create_column_writers(0)?;
                        others = Some(self.others.iter().copied().zip(writers).collect());
                    }
                    let writer = others
                        .as_mut()
                        .and_then(|writers| writers.remove(&position));
                    let mut writer = writer.ok_or_else(|| anyhow!("no writer for {field}"))?;
                    let flat = as_wide_as(array.clone(), field.data_type())?;
                    for leaf in compute_leaves(field, &flat)? {
                        writer.write(&leaf)?;
                    }
                    EncodedColumn::Other(writer.close()?)
                }
            });
        }
        drop(batch);
        Ok(Box::new(move || {
            let mut writer = lock(&self.writer);
            let writer = writer.as_mut().ok_or_else(|| anyhow!("file is closed"))?;
            let mut row_group = writer.next_row_group()?;
            for column in columns {
                match column {
                    EncodedColumn::Numbers(chunk) => chunk.append_to(&mut row_group)?,
                    EncodedColumn::Other(chunk) => chunk.append_to_row_group(&mut row_group)?,
                }
            }
            row_group.close()?;
            Ok(())
        }))
    }
}

/// A column of a row group that is ready to be written.
enum EncodedColumn {
    Numbers(Chunk),
    Other(ArrowColumnChunk),
}

impl FileSink for ParquetSink {
    fn finish(&self) -> anyhow::Result<Completed> {
        let writer = lock(&self.writer).take();
        let writer = writer.ok_or_else(|| anyhow!("file is closed"))?;
        writer.into_inner()?.complete()
    }
}

fn codec(compression: Compression) -> anyhow::Result<ParquetCompression> {
    Ok(match compression {
        Compression::None => ParquetCompression::UNCOMPRESSED,
        Compression::Snappy => ParquetCompression::SNAPPY,
        Compression::Lz4 => ParquetCompression::LZ4_RAW,
        Compression::Gzip(level) => ParquetCompression::GZIP(GzipLevel::try_new(level)?),
        Compression::Zstandard(level) => ParquetCompression::ZSTD(ZstdLevel::try_new(level)?),
    })
}

fn properties(
    compression: Compression,
    metadata: Vec<(String, String)>,
) -> anyhow::Result<WriterProperties> {
    let metadata = metadata.into_iter();
    Ok(WriterProperties::builder()
        .set_created_by(format!("simtel version {}", env!("CARGO_PKG_VERSION")))
        .set_compression(codec(compression)?)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        // It says where pages lie within columns of mostly one page.
        .set_offset_index_disabled(true)
        // Pages end by their size alone: cut at the usual 20,000 rows, the
        // files of a race are half as large again, and no faster to write.
        .set_data_page_row_count_limit(usize::MAX)
        .set_write_batch_size(1 << 14)
        .set_key_value_metadata(Some(
            metadata
                .map(|(key, value)| KeyValue::new(key, value))
                .collect(),
        ))
        .build())
}
