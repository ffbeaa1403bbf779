//! A simulator as far as its shared memory goes, for trying recorders on, and a
//! program that reads such memory. It shares no code with simtel, on purpose.
//!
//! usage: fake_simulator publish [--map FILE] [--rate HZ] [--seconds S] [--old]
//!            [--change-every TICKS] [--cars N] [--start TICK]
//!        fake_simulator watch [--map FILE] [--seconds S] [--names MAPPING EVENT]
//!        fake_simulator window SECONDS
//!
//! Every value of a tick that it publishes is the tick's number. Without a rate
//! it publishes as fast as it can. `--old` leaves out what simulators did not
//! write before 2026. Without a file the memory has the simulator's own names, or
//! those of `--names`, which is for Windows; so is `window`, which prints the
//! simulator's messages that its window gets.

use std::sync::atomic::{AtomicI32, Ordering, fence};
use std::time::{Duration, Instant};

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// As the memory of a simulator of 2024 is laid out.
const SESSION: usize = 112;
const SESSION_ROOM: usize = 524_288;
const VARIABLES: usize = SESSION + SESSION_ROOM;
const RECORDS: usize = VARIABLES + 4_096 * 144;
const RECORD_ROOM: usize = 24_576;
const LENGTH: usize = 1_191_936;
const BUFFERS: i32 = 3;

pub struct Options {
    pub map: Option<String>,
    pub names: (String, String),
    pub rate: Option<f64>,
    pub seconds: f64,
    pub is_old: bool,
    pub change_every: Option<i32>,
    pub cars: usize,
    pub start: i32,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            map: None,
            names: (
                "Local\\IRSDKMemMapFileName".into(),
                "Local\\IRSDKDataValidEvent".into(),
            ),
            rate: None,
            seconds: 10.0,
            is_old: false,
            change_every: None,
            cars: 64,
            start: 1,
        }
    }
}

fn main() -> Result<()> {
    let mut options = Options::default();
    let mut arguments = std::env::args().skip(1);
    let what = arguments.next().ok_or("publish, watch or window?")?;
    if what == "window" {
        let seconds = arguments.next().ok_or("how long?")?.parse()?;
        return system::window(Duration::from_secs_f64(seconds));
    }
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or("a value is missing");
        match argument.as_str() {
            "--map" => options.map = Some(value()?),
            "--names" => options.names = (value()?, value()?),
            "--rate" => options.rate = Some(value()?.parse()?),
            "--seconds" => options.seconds = value()?.parse()?,
            "--old" => options.is_old = true,
            "--change-every" => options.change_every = Some(value()?.parse()?),
            "--cars" => options.cars = value()?.parse()?,
            "--start" => options.start = value()?.parse()?,
            _ => return Err(format!("unknown: {argument}").into()),
        }
    }
    match what.as_str() {
        "publish" => {
            let published = publish(&options)?;
            println!("published {published} ticks");
            Ok(())
        }
        "watch" => watch(&options),
        _ => Err(format!("unknown: {what}").into()),
    }
}

/// Name, type, count.
fn variables(cars: usize) -> Vec<(String, i32, usize)> {
    let mut variables = vec![
        ("SessionTime".to_string(), 5, 1),
        ("SessionTick".to_string(), 2, 1),
        ("Lap".to_string(), 2, 1),
        ("Speed".to_string(), 4, 1),
    ];
    for name in ["CarIdxLap", "CarIdxPosition", "CarIdxClass", "CarIdxGear"] {
        variables.push((name.to_string(), 2, cars));
    }
    // As many as a simulator has.
    for number in 0..300 {
        variables.push((format!("Filler{number:03}"), 2, 1));
    }
    variables
}

fn header(name: &str, kind: i32, offset: usize, count: usize) -> [u8; 144] {
    let mut bytes = [0; 144];
    bytes[0..4].copy_from_slice(&kind.to_le_bytes());
    bytes[4..8].copy_from_slice(&(offset as i32).to_le_bytes());
    bytes[8..12].copy_from_slice(&(count as i32).to_le_bytes());
    bytes[16..16 + name.len()].copy_from_slice(name.as_bytes());
    bytes
}

fn session(update: i32) -> String {
    format!(
        "---\nWeekendInfo:\n TrackDisplayName: Fake Circuit\n SessionUpdate: {update}\n\nDriverInfo:\n \
         DriverCarIdx: 0\n Drivers:\n - CarIdx: 0\n   UserName: Fake Driver\n   CarScreenName: Fake \
         Car\n   CarNumber: \"007\"\n\n...\n"
    )
}

/// Returns how many ticks it has published.
pub fn publish(options: &Options) -> Result<i32> {
    let memory = system::Memory::create(options)?;
    let variables = variables(options.cars);
    let mut length = 0;
    let mut headers = Vec::new();
    for (name, kind, count) in &variables {
        headers.extend(header(name, *kind, length, *count));
        length += count * if *kind == 5 { 8 } else { 4 };
    }
    memory.store(4, 0);
    memory.write(VARIABLES, &headers);
    memory.write(SESSION, session(1).as_bytes());
    for (at, value) in [
        (0, 2),
        (8, 60),
        (12, 1),
        (16, SESSION_ROOM as i32),
        (20, SESSION as i32),
        (24, variables.len() as i32),
        (28, VARIABLES as i32),
        (32, BUFFERS),
        (36, length as i32),
    ] {
        memory.store(at, value);
    }
    for buffer in 0..BUFFERS {
        let at = 48 + 16 * buffer as usize;
        memory.store(at, 0);
        memory.store(at + 4, (RECORDS + buffer as usize * RECORD_ROOM) as i32);
        memory.store(at + 8, 0);
    }
    memory.store(4, 1);
    std::thread::sleep(Duration::from_millis(500));
    let started = Instant::now();
    let mut record = vec![0; length];
    let mut tick = options.start;
    let mut update = 1;
    loop {
        let elapsed = started.elapsed().as_secs_f64();
        if elapsed >= options.seconds {
            break;
        }
        if let Some(rate) = options.rate {
            // Late or not, a simulator never publishes two at once.
            let due = f64::from(tick - options.start) / rate;
            let wait = (due - elapsed).max(0.5 / rate);
            std::thread::sleep(Duration::from_secs_f64(wait));
        }
        if options.change_every.is_some_and(|every| tick % every == 0) {
            update += 1;
            let mut text = session(update).into_bytes();
            text.push(0);
            memory.write(SESSION, &text);
            memory.store(12, update);
        }
        record[0..8].copy_from_slice(&f64::from(tick).to_le_bytes());
        for (number, value) in record[8..].chunks_exact_mut(4).enumerate() {
            // Speed is a float.
            match number {
                2 => value.copy_from_slice(&(tick as f32).to_le_bytes()),
                _ => value.copy_from_slice(&tick.to_le_bytes()),
            }
        }
        let buffer = (tick % BUFFERS) as usize;
        let at = 48 + 16 * buffer;
        if !options.is_old {
            memory.store(at + 8, tick);
        }
        memory.write(RECORDS + buffer * RECORD_ROOM, &record);
        memory.store(at, tick);
        memory.signal();
        tick += 1;
    }
    std::thread::sleep(Duration::from_millis(100));
    memory.store(4, 0);
    Ok(tick - options.start)
}

/// Prints how many ticks come, as a client that takes the newest only.
fn watch(options: &Options) -> Result<()> {
    let until = Instant::now() + Duration::from_secs_f64(options.seconds);
    let memory = loop {
        match system::Memory::open(options) {
            Ok(memory) if memory.load(4) == 1 => break memory,
            _ if Instant::now() > until => return Err("nothing was published".into()),
            _ => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let (mut ticks, mut last, mut sessions, mut update) = (0, 0, 0, 0);
    while Instant::now() < until && memory.load(4) == 1 {
        memory.wait(Duration::from_millis(16));
        let newest = (0..memory.load(32) as usize)
            .map(|buffer| memory.load(48 + 16 * buffer))
            .max()
            .unwrap_or(0);
        if newest > last {
            ticks += 1;
            last = newest;
        }
        if memory.load(12) != update {
            update = memory.load(12);
            sessions += 1;
        }
    }
    println!(
        "seen {ticks} ticks up to {last}, {sessions} session strings, {} variables, connected {}",
        memory.load(24),
        memory.load(4)
    );
    Ok(())
}

/// What both systems have: memory that other programs write or read.
struct Bytes(*mut u8);

impl Bytes {
    fn write(&self, offset: usize, bytes: &[u8]) {
        assert!(offset + bytes.len() <= LENGTH);
        fence(Ordering::SeqCst);
        // SAFETY: the memory has that length.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.add(offset), bytes.len()) };
        fence(Ordering::SeqCst);
    }

    fn number(&self, offset: usize) -> &AtomicI32 {
        assert!(offset + 4 <= LENGTH && offset.is_multiple_of(4));
        // SAFETY: it begins at a page and has that length.
        unsafe { AtomicI32::from_ptr(self.0.add(offset).cast()) }
    }

    fn store(&self, offset: usize, value: i32) {
        self.number(offset).store(value, Ordering::SeqCst);
    }

    fn load(&self, offset: usize) -> i32 {
        self.number(offset).load(Ordering::SeqCst)
    }
}

#[cfg(not(windows))]
mod system {
    use std::fs::OpenOptions;
    use std::ops::Deref;
    use std::time::Duration;

    use memmap2::MmapMut;

    use super::{Bytes, LENGTH, Options, Result};

    pub(super) struct Memory {
        bytes: Bytes,
        _map: MmapMut,
    }

    impl Memory {
        pub fn create(options: &Options) -> Result<Memory> {
            Memory::of(options, true)
        }

        pub fn open(options: &Options) -> Result<Memory> {
            Memory::of(options, false)
        }

        fn of(options: &Options, create: bool) -> Result<Memory> {
            let path = options.map.as_ref().ok_or("--map FILE is needed here")?;
            let mut open = OpenOptions::new();
            let file = open.read(true).write(true).create(create).open(path)?;
            if create {
                file.set_len(LENGTH as u64)?;
            }
            // SAFETY: whoever changes the file follows the same rules.
            let mut map = unsafe { MmapMut::map_mut(&file)? };
            if map.len() < LENGTH {
                return Err("it is too short".into());
            }
            Ok(Memory {
                bytes: Bytes(map.as_mut_ptr()),
                _map: map,
            })
        }

        pub fn signal(&self) {}

        pub fn wait(&self, _patience: Duration) {
            std::thread::sleep(Duration::from_millis(1));
        }
    }

    impl Deref for Memory {
        type Target = Bytes;

        fn deref(&self) -> &Bytes {
            &self.bytes
        }
    }

    pub(super) fn window(_duration: Duration) -> Result<()> {
        Err("windows that get messages are those of Windows".into())
    }
}

#[cfg(windows)]
mod system {
    use std::ops::Deref;
    use std::ptr;
    use std::time::{Duration, Instant};

    use windows_sys::Win32::Foundation::{
        HANDLE, HWND, INVALID_HANDLE_VALUE, LPARAM, LRESULT, WPARAM,
    };
    use windows_sys::Win32::System::Memory::{
        CreateFileMappingW, FILE_MAP_ALL_ACCESS, FILE_MAP_READ, MapViewOfFile, OpenFileMappingW,
        PAGE_READWRITE,
    };
    use windows_sys::Win32::System::Threading::{
        CreateEventW, OpenEventW, ResetEvent, SYNCHRONIZATION_SYNCHRONIZE, SetEvent,
        WaitForSingleObject,
    };
    use windows_sys::Win32::UI::WindowsAndMessaging::{
        CreateWindowExW, DefWindowProcW, DispatchMessageW, PM_REMOVE, PeekMessageW, RegisterClassW,
        RegisterWindowMessageW, WNDCLASSW,
    };

    use super::{Bytes, LENGTH, Options, Result};

    pub(super) struct Memory {
        bytes: Bytes,
        event: HANDLE,
    }

    fn wide(text: &str) -> Vec<u16> {
        text.encode_utf16().chain([0]).collect()
    }

    impl Memory {
        pub fn create(options: &Options) -> Result<Memory> {
            let (mapping, event) = (wide(&options.names.0), wide(&options.names.1));
            // SAFETY: the names end with NUL; what is missing is null.
            unsafe {
                let mapping = CreateFileMappingW(
                    INVALID_HANDLE_VALUE,
                    ptr::null(),
                    PAGE_READWRITE,
                    0,
                    LENGTH as u32,
                    mapping.as_ptr(),
                );
                let event = CreateEventW(ptr::null(), 1, 0, event.as_ptr());
                Memory::of(mapping, event, FILE_MAP_ALL_ACCESS)
            }
        }

        pub fn open(options: &Options) -> Result<Memory> {
            let (mapping, event) = (wide(&options.names.0), wide(&options.names.1));
            // SAFETY: the names end with NUL; what is missing is null.
            unsafe {
                let mapping = OpenFileMappingW(FILE_MAP_READ, 0, mapping.as_ptr());
                let event = OpenEventW(SYNCHRONIZATION_SYNCHRONIZE, 0, event.as_ptr());
                Memory::of(mapping, event, FILE_MAP_READ)
            }
        }

        /// # Safety
        /// The handles are null, or of a mapping and of an event.
        unsafe fn of(mapping: HANDLE, event: HANDLE, access: u32) -> Result<Memory> {
            if mapping.is_null() || event.is_null() {
                return Err(std::io::Error::last_os_error().into());
            }
            // SAFETY: the handle is one of a mapping.
            let view = unsafe { MapViewOfFile(mapping, access, 0, 0, 0) };
            if view.Value.is_null() {
                return Err(std::io::Error::last_os_error().into());
            }
            Ok(Memory {
                bytes: Bytes(view.Value.cast()),
                event,
            })
        }

        pub fn signal(&self) {
            // SAFETY: the handle is one of an event.
            unsafe {
                SetEvent(self.event);
                ResetEvent(self.event);
            }
        }

        pub fn wait(&self, patience: Duration) {
            // SAFETY: the handle is one of an event.
            unsafe { WaitForSingleObject(self.event, patience.as_millis() as u32) };
        }
    }

    impl Deref for Memory {
        type Target = Bytes;

        fn deref(&self) -> &Bytes {
            &self.bytes
        }
    }

    unsafe extern "system" fn procedure(
        window: HWND,
        message: u32,
        first: WPARAM,
        second: LPARAM,
    ) -> LRESULT {
        let name = wide("IRSDK_BROADCASTMSG");
        // SAFETY: the name ends with NUL, and the rest is passed on as it came.
        unsafe {
            if message == RegisterWindowMessageW(name.as_ptr()) {
                println!("message {first:016x} {second:016x}");
            }
            DefWindowProcW(window, message, first, second)
        }
    }

    pub(super) fn window(duration: Duration) -> Result<()> {
        let class = wide("fake_simulator");
        // SAFETY: the class lives as long as its window, and what is missing is
        // null or zero.
        unsafe {
            let description = WNDCLASSW {
                lpfnWndProc: Some(procedure),
                lpszClassName: class.as_ptr(),
                ..std::mem::zeroed()
            };
            RegisterClassW(&description);
            let window = CreateWindowExW(
                0,
                class.as_ptr(),
                class.as_ptr(),
                0,
                0,
                0,
                0,
                0,
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null_mut(),
                ptr::null(),
            );
            if window.is_null() {
                return Err("no window can be made: is there a display?".into());
            }
            println!("ready");
            let until = Instant::now() + duration;
            while Instant::now() < until {
                let mut message = std::mem::zeroed();
                while PeekMessageW(&mut message, ptr::null_mut(), 0, 0, PM_REMOVE) != 0 {
                    DispatchMessageW(&message);
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }
}
