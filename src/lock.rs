//! Locking without the question of poisoning.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks; a panic of another holder does not make the data any worse.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
