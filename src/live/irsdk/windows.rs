//! Mappings and events with names, and messages to windows, as Windows has them.

use std::io;
use std::ptr;
use std::time::Duration;

use windows_sys::Win32::Foundation::{CloseHandle, HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Memory::{
    CreateFileMappingW, FILE_MAP_READ, FILE_MAP_WRITE, MEMORY_BASIC_INFORMATION,
    MEMORY_MAPPED_VIEW_ADDRESS, MapViewOfFile, OpenFileMappingW, PAGE_READWRITE, UnmapViewOfFile,
    VirtualQuery,
};
use windows_sys::Win32::System::Threading::{
    CreateEventW, OpenEventW, ResetEvent, SYNCHRONIZATION_SYNCHRONIZE, SetEvent,
    WaitForSingleObject,
};
use windows_sys::Win32::UI::WindowsAndMessaging::{
    HWND_BROADCAST, RegisterWindowMessageW, SendNotifyMessageW,
};

/// A handle that is closed in the end.
struct Handle(HANDLE);

// SAFETY: handles belong to the process, not to a thread.
unsafe impl Send for Handle {}

impl Handle {
    fn new(handle: HANDLE) -> io::Result<Handle> {
        match handle.is_null() {
            true => Err(io::Error::last_os_error()),
            false => Ok(Handle(handle)),
        }
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: it is open, and nobody else closes it.
        unsafe { CloseHandle(self.0) };
    }
}

/// A named mapping, as this process sees it.
pub(super) struct View {
    address: MEMORY_MAPPED_VIEW_ADDRESS,
    length: usize,
    _mapping: Handle,
}

// SAFETY: the memory is there for all threads.
unsafe impl Send for View {}

impl View {
    /// # Errors
    /// `NotFound` if nobody has made it.
    pub fn open(name: &str) -> io::Result<View> {
        let name = wide(name);
        // SAFETY: the name ends with NUL.
        let mapping = Handle::new(unsafe { OpenFileMappingW(FILE_MAP_READ, 0, name.as_ptr()) })?;
        View::of(mapping, FILE_MAP_READ)
    }

    /// One that other programs still hold open is taken over.
    ///
    /// # Errors
    /// If the system does not give it.
    pub fn create(name: &str, length: usize) -> io::Result<View> {
        let text = wide(name);
        let size = u32::try_from(length).map_err(io::Error::other)?;
        // SAFETY: the name ends with NUL, and no file is behind the mapping.
        let mapping = unsafe {
            CreateFileMappingW(
                INVALID_HANDLE_VALUE,
                ptr::null(),
                PAGE_READWRITE,
                0,
                size,
                text.as_ptr(),
            )
        };
        let mapping = Handle::new(mapping)?;
        View::of(mapping, FILE_MAP_WRITE)
    }

    fn of(mapping: Handle, access: u32) -> io::Result<View> {
        // SAFETY: the handle is one of a mapping.
        let address = unsafe { MapViewOfFile(mapping.0, access, 0, 0, 0) };
        if address.Value.is_null() {
            return Err(io::Error::last_os_error());
        }
        let mut information = MEMORY_BASIC_INFORMATION::default();
        // SAFETY: it fills in what it is given the size of.
        let filled = unsafe {
            VirtualQuery(
                address.Value,
                &mut information,
                size_of::<MEMORY_BASIC_INFORMATION>(),
            )
        };
        Ok(View {
            address,
            length: match filled {
                0 => 0,
                _ => information.RegionSize,
            },
            _mapping: mapping,
        })
    }

    pub fn start(&self) -> *const u8 {
        self.address.Value.cast()
    }

    pub fn length(&self) -> usize {
        self.length
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // SAFETY: it is mapped, and nobody else unmaps it.
        unsafe { UnmapViewOfFile(self.address) };
    }
}

/// A named event, which is set for a moment when there is a new tick.
pub(super) struct DataEvent(Handle);

impl DataEvent {
    pub fn open(name: &str) -> io::Result<DataEvent> {
        let name = wide(name);
        // SAFETY: the name ends with NUL.
        let event = unsafe { OpenEventW(SYNCHRONIZATION_SYNCHRONIZE, 0, name.as_ptr()) };
        Handle::new(event).map(DataEvent)
    }

    pub fn create(name: &str) -> io::Result<DataEvent> {
        let name = wide(name);
        // SAFETY: the name ends with NUL.
        let event = unsafe { CreateEventW(ptr::null(), 1, 0, name.as_ptr()) };
        Handle::new(event).map(DataEvent)
    }

    pub fn wait(&self, patience: Duration) {
        let milliseconds = u32::try_from(patience.as_millis()).unwrap_or(u32::MAX - 1);
        // SAFETY: the handle is one of an event.
        unsafe { WaitForSingleObject(self.0.0, milliseconds) };
    }

    pub fn signal(&self) {
        // SAFETY: the handle is one of an event.
        unsafe {
            SetEvent(self.0.0);
            ResetEvent(self.0.0);
        }
    }
}

/// Sends a message of the simulator's to every window.
pub(super) fn broadcast((first, second): (i32, i32)) -> io::Result<()> {
    let name = wide("IRSDK_BROADCASTMSG");
    // SAFETY: the name ends with NUL.
    let message = unsafe { RegisterWindowMessageW(name.as_ptr()) };
    if message == 0 {
        return Err(io::Error::last_os_error());
    }
    // As wide as a pointer, with the sign that they have in 32 bits.
    let (first, second) = (first as isize as usize, second as isize);
    // SAFETY: the message carries numbers only, and nobody waits for an answer.
    match unsafe { SendNotifyMessageW(HWND_BROADCAST, message, first, second) } {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// A text as Windows takes it.
fn wide(text: &str) -> Vec<u16> {
    text.encode_utf16().chain([0]).collect()
}
