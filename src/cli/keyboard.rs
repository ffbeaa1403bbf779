//! Single keys of a terminal, without waiting for any.

/// Listens for keys until it is dropped.
pub(super) struct Keyboard(system::Keys);

impl Keyboard {
    /// `None` if there is no terminal that we may listen to.
    pub(super) fn open() -> Option<Keyboard> {
        system::Keys::open().map(Keyboard)
    }

    /// The key that was pressed, if one was.
    pub(super) fn key(&self) -> Option<u8> {
        self.0.key()
    }
}

/// Gives the terminal back, before the program ends at once.
pub(super) fn restore() {
    system::restore();
}

#[cfg(unix)]
mod system {
    use std::io::IsTerminal;
    use std::sync::Mutex;

    use rustix::process::getpgrp;
    use rustix::stdio::stdin;
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    use crate::lock::lock;

    /// How the terminal was before.
    static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);

    /// The terminal hands on each key by itself, and does not show it.
    pub(super) struct Keys;

    /// Whether we are in the foreground: a change of the terminal, and even
    /// listening to it, would stop us in the background.
    fn is_ours() -> bool {
        tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp())
    }

    pub fn restore() {
        if let Some(before) = lock(&BEFORE).take()
            && is_ours()
        {
            // A terminal that is gone needs no repair.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &before);
        }
    }

    impl Keys {
        pub fn open() -> Option<Keys> {
            if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() || !is_ours() {
                return None;
            }
            let before = tcgetattr(stdin()).ok()?;
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(stdin(), OptionalActions::Now, &modes).ok()?;
            *lock(&BEFORE) = Some(before);
            Some(Keys)
        }

        pub fn key(&self) -> Option<u8> {
            if !is_ours() {
                return None;
            }
            let mut key = [0];
            let length = rustix::io::read(stdin(), &mut key).ok()?;
            (length == 1).then_some(key[0])
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            restore();
        }
    }
}

#[cfg(windows)]
mod system {
    use std::io::IsTerminal;

    unsafe extern "C" {
        fn _kbhit() -> i32;
        fn _getch() -> i32;
    }

    pub(super) struct Keys;

    /// Nothing was changed.
    pub fn restore() {}

    impl Keys {
        pub fn open() -> Option<Keys> {
            let is_terminal = std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
            is_terminal.then_some(Keys)
        }

        pub fn key(&self) -> Option<u8> {
            // SAFETY: both take and give numbers alone, and `_getch` does not
            // wait when there is a key.
            unsafe {
                match _kbhit() {
                    0 => None,
                    _ => u8::try_from(_getch()).ok(),
                }
            }
        }
    }
}

#[cfg(not(any(unix, windows)))]
mod system {
    pub(super) struct Keys;

    pub fn restore() {}

    impl Keys {
        pub fn open() -> Option<Keys> {
            None
        }

        pub fn key(&self) -> Option<u8> {
            None
        }
    }
}
