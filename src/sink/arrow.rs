//! Arrow IPC, as a file or as a stream.

use std::sync::{Arc, Mutex};

use anyhow::anyhow;
use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::CompressionType;
use arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::file::{Completed, OutputFile};
use super::{Compression, FileSink};
use crate::decode::{Append, TableSink, flat};
use crate::lock::lock;

pub(super) struct ArrowSink {
    schema: SchemaRef,
    writer: Mutex<Option<Writer>>,
}

enum Writer {
    File(FileWriter<OutputFile>),
    Stream(StreamWriter<OutputFile>),
}

impl ArrowSink {
    pub(super) fn open(
        file: OutputFile,
        columns: &SchemaRef,
        compression: Compression,
        as_stream: bool,
        metadata: Vec<(String, String)>,
    ) -> anyhow::Result<ArrowSink> {
        let compression = match compression {
            Compression::Lz4 => Some(CompressionType::LZ4_FRAME),
            Compression::Zstandard(_) => Some(CompressionType::ZSTD),
            Compression::None | Compression::Snappy | Compression::Gzip(_) => None,
        };
        let options = IpcWriteOptions::default().try_with_compression(compression)?;
        let metadata: std::collections::HashMap<String, String> = metadata.into_iter().collect();
        let schema = Schema::new_with_metadata(columns.fields().clone(), metadata);
        let writer = match as_stream {
            false => Writer::File(FileWriter::try_new_with_options(file, &schema, options)?),
            true => Writer::Stream(StreamWriter::try_new_with_options(file, &schema, options)?),
        };
        Ok(ArrowSink {
            schema: columns.clone(),
            writer: Mutex::new(Some(writer)),
        })
    }
}

impl TableSink for ArrowSink {
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append> {
        // But for this, Arrow is what a batch is already.
        let batch = flat(&batch, &self.schema)?;
        Ok(Box::new(move || {
            match lock(&self.writer).as_mut() {
                Some(Writer::File(writer)) => writer.write(&batch)?,
                Some(Writer::Stream(writer)) => writer.write(&batch)?,
                None => return Err(anyhow!("file is closed")),
            }
            Ok(())
        }))
    }
}

impl FileSink for ArrowSink {
    fn finish(&self) -> anyhow::Result<Completed> {
        let file = match lock(&self.writer).take() {
            Some(Writer::File(mut writer)) => {
                writer.finish()?;
                writer.into_inner()?
            }
            Some(Writer::Stream(mut writer)) => {
                writer.finish()?;
                writer.into_inner()?
            }
            None => return Err(anyhow!("file is closed")),
        };
        file.complete()
    }
}
