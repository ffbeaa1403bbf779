//! Decoding and encoding on all cores with bounded memory and an output that
//! does not depend on how many there are: batches are cut by their content,
//! worked on in any order, and appended to each table in capture order.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use arrow::array::RecordBatch;

use super::gather::gather;
use super::plan::TablePlan;
use super::records::Records;
use crate::lock::lock;

/// The last step of a batch: adds what was encoded to the table's output.
pub type Append = Box<dyn FnOnce() -> anyhow::Result<()> + Send>;

/// Takes the batches of one table.
pub trait TableSink: Send + Sync {
    /// Encodes a batch, on any thread and in any order; the returned step is
    /// run in capture order, one at a time.
    ///
    /// # Errors
    /// If the batch cannot be encoded.
    fn encode(self: Arc<Self>, batch: RecordBatch) -> anyhow::Result<Append>;
}

/// Where the batches of a table go, with what keeps them in order.
pub(super) struct Lane {
    pub(super) sink: Arc<dyn TableSink>,
    order: Mutex<Order>,
}

#[derive(Default)]
struct Order {
    next: usize,
    /// Batches that were done before their turn; `None` has no rows.
    waiting: BTreeMap<usize, (Option<Append>, Arc<Permit>)>,
    /// Whether a thread appends: it goes on with what is done meanwhile.
    is_busy: bool,
}

impl Order {
    /// The batch whose turn it is, if it is done.
    fn take_next(&mut self) -> Option<(Option<Append>, Arc<Permit>)> {
        let done = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some(done)
    }
}

impl Lane {
    pub(super) fn new(sink: Arc<dyn TableSink>) -> Lane {
        Lane {
            sink,
            order: Mutex::default(),
        }
    }

    fn process(
        &self,
        plan: &TablePlan,
        sequence: usize,
        records: &Records,
        permit: &Arc<Permit>,
        totals: &Totals,
    ) -> anyhow::Result<()> {
        let gathered = gather(plan, records).with_context(|| plan.qualified_name())?;
        let rows = gathered.batch.num_rows() as u64;
        let append = match rows {
            0 => None,
            _ => Some(self.sink.clone().encode(gathered.batch)?),
        };
        totals.rows.fetch_add(rows, Ordering::Relaxed);
        totals
            .replaced_texts
            .fetch_add(gathered.replaced_texts, Ordering::Relaxed);
        let mut order = lock(&self.order);
        order.waiting.insert(sequence, (append, permit.clone()));
        // Who waited here could not begin another batch: a fifth of the time, where
        // much is written.
        if order.is_busy {
            return Ok(());
        }
        order.is_busy = true;
        while let Some((append, _permit)) = order.take_next() {
            drop(order);
            if let Some(append) = append {
                // After a failure nothing is appended any more.
                append()?;
            }
            order = lock(&self.order);
        }
        order.is_busy = false;
        Ok(())
    }
}

/// What all batches add up to.
#[derive(Default)]
pub(super) struct Totals {
    pub rows: AtomicU64,
    pub replaced_texts: AtomicU64,
}

/// Runs batches on a pool of threads, a few at a time.
pub(super) struct Schedule {
    /// `None` if all is done on the caller's thread.
    pool: Option<rayon::ThreadPool>,
    gate: Arc<Gate>,
    failure: Arc<Failure>,
    pub totals: Arc<Totals>,
}

/// The first thing that went wrong in a batch.
#[derive(Default)]
struct Failure {
    error: Mutex<Option<anyhow::Error>>,
    /// Batches that have not begun need not begin any more.
    stop: AtomicBool,
}

impl Schedule {
    /// # Errors
    /// If the threads cannot be started.
    pub(super) fn new(threads: usize) -> anyhow::Result<Schedule> {
        let pool = match threads {
            1 => None,
            _ => {
                let pool = rayon::ThreadPoolBuilder::new()
                    .num_threads(threads)
                    .thread_name(|number| format!("decode-{number}"))
                    .build();
                Some(pool.context("cannot start the worker threads")?)
            }
        };
        // Enough to keep all threads busy while one batch waits for its turn;
        // each holds a row group of every table it feeds.
        let permits = pool
            .as_ref()
            .map_or(1, rayon::ThreadPool::current_num_threads)
            + 2;
        Ok(Schedule {
            gate: Arc::new(Gate {
                state: Mutex::new(GateState {
                    free: permits,
                    running: 0,
                }),
                changed: Condvar::new(),
                permits,
            }),
            pool,
            failure: Arc::default(),
            totals: Arc::default(),
        })
    }

    /// Decodes `records` into each of the lanes by its plan, as batch number
    /// `sequence` of their packet. Waits until there is room for another batch.
    ///
    /// # Errors
    /// If an earlier batch has failed.
    pub(super) fn submit(
        &self,
        lanes: Vec<(Arc<TablePlan>, Arc<Lane>)>,
        sequence: usize,
        records: Records,
    ) -> anyhow::Result<()> {
        let permit = Arc::new(Gate::enter(&self.gate));
        self.check()?;
        let running = Running::begin(&self.gate);
        let failure = self.failure.clone();
        let totals = self.totals.clone();
        let work = move || {
            let result = match failure.stop.load(Ordering::Relaxed) {
                true => Ok(()),
                // One thread a batch: with work inside a batch shared out as
                // well, threads that wait for each other's pieces take up
                // more batches than there is room for.
                false => lanes.iter().try_for_each(|(plan, lane)| {
                    lane.process(plan, sequence, &records, &permit, &totals)
                }),
            };
            if let Err(error) = result {
                // In this order: whoever sees the stop must find the error.
                lock(&failure.error).get_or_insert(error);
                failure.stop.store(true, Ordering::Release);
            }
            // Whoever waits for the batch to end may delete what it held.
            drop((lanes, records, permit));
            drop(running);
        };
        match &self.pool {
            Some(pool) => pool.spawn(work),
            None => work(),
        }
        Ok(())
    }

    /// Waits until every batch is appended.
    ///
    /// # Errors
    /// If a batch has failed.
    pub(super) fn finish(&self) -> anyhow::Result<()> {
        // After a failure some batches wait for a turn that never comes.
        let failed = || self.failure.stop.load(Ordering::Acquire);
        drop(
            self.gate
                .wait_until(|state| state.free == self.gate.permits || failed()),
        );
        self.check()
    }

    fn check(&self) -> anyhow::Result<()> {
        match lock(&self.failure.error).take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }
}

impl Drop for Schedule {
    /// Batches hold outputs, which are cleared away after this: none may be
    /// under way any more.
    fn drop(&mut self) {
        self.failure.stop.store(true, Ordering::Relaxed);
        drop(self.gate.wait_until(|state| state.running == 0));
    }
}

/// Lets a fixed number of batches be under way at the same time.
struct Gate {
    state: Mutex<GateState>,
    changed: Condvar,
    permits: usize,
}

struct GateState {
    free: usize,
    /// Batches on the pool; some of those under way only wait for their turn.
    running: usize,
}

/// Leave to be under way; given back when dropped.
struct Permit(Arc<Gate>);

/// A batch on the pool.
struct Running(Arc<Gate>);

impl Gate {
    fn enter(gate: &Arc<Gate>) -> Permit {
        gate.wait_until(|state| state.free > 0).free -= 1;
        Permit(gate.clone())
    }

    fn wait_until(&self, ready: impl Fn(&GateState) -> bool) -> MutexGuard<'_, GateState> {
        self.changed
            .wait_while(lock(&self.state), |state| !ready(state))
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Running {
    fn begin(gate: &Arc<Gate>) -> Running {
        lock(&gate.state).running += 1;
        Running(gate.clone())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        lock(&self.0.state).running -= 1;
        self.0.changed.notify_all();
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        lock(&self.0.state).free += 1;
        self.0.changed.notify_all();
    }
}
