//! Bringing to the disk what the system has taken.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use crate::lock::lock;

/// Brings files to the disk beside the writing, since a disk can take its time.
pub(super) struct Syncer {
    files: Option<SyncSender<File>>,
    thread: Option<JoinHandle<()>>,
    failure: Arc<Mutex<Option<io::Error>>>,
}

impl Syncer {
    pub fn start() -> Syncer {
        let (files, waiting) = sync_channel::<File>(2);
        let failure = Arc::new(Mutex::new(None));
        let told = failure.clone();
        let thread = std::thread::spawn(move || {
            for file in waiting {
                if let Err(error) = file.sync_data() {
                    // Some things that can be written to cannot be synced.
                    if error.kind() != ErrorKind::InvalidInput {
                        lock(&told).get_or_insert(error);
                    }
                }
            }
        });
        Syncer {
            files: Some(files),
            thread: Some(thread),
            failure,
        }
    }

    /// Syncs a file soon; `false` if there is no time for it yet.
    pub fn sync(&self, file: &File) -> bool {
        let (Some(files), Ok(file)) = (&self.files, file.try_clone()) else {
            return false;
        };
        files.try_send(file).is_ok()
    }

    /// Syncs a file that is complete.
    pub fn sync_last(&self, file: File) {
        if let Some(files) = &self.files {
            files.send(file).ok();
        }
    }

    pub fn check(&self) -> anyhow::Result<()> {
        match lock(&self.failure).take() {
            Some(error) => Err(anyhow::Error::new(error)
                .context("the disk did not take what was written; the recording ends")),
            None => Ok(()),
        }
    }

    pub fn finish(&mut self) -> anyhow::Result<()> {
        self.files = None;
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
        self.check()
    }
}
