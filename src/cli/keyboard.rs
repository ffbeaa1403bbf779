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

#[cfg(unix)]
mod system {
    use std::io::IsTerminal;

    use rustix::process::getpgrp;
    use rustix::stdio::stdin;
    use rustix::termios::{
        LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetpgrp, tcsetattr,
    };

    /// The terminal hands on each key by itself, and does not show it.
    pub(super) struct Keys {
        before: Termios,
    }

    impl Keys {
        pub fn open() -> Option<Keys> {
            // In the background a change of the terminal would stop us.
            let is_ours = || tcgetpgrp(stdin()).is_ok_and(|group| group == getpgrp());
            if !std::io::stdin().is_terminal() || !std::io::stderr().is_terminal() || !is_ours() {
                return None;
            }
            let before = tcgetattr(stdin()).ok()?;
            let mut modes = before.clone();
            modes.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
            modes.special_codes[SpecialCodeIndex::VMIN] = 0;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
            tcsetattr(stdin(), OptionalActions::Now, &modes).ok()?;
            Some(Keys { before })
        }

        pub fn key(&self) -> Option<u8> {
            let mut key = [0];
            let length = rustix::io::read(stdin(), &mut key).ok()?;
            (length == 1).then_some(key[0])
        }
    }

    impl Drop for Keys {
        fn drop(&mut self) {
            // A terminal that is gone needs no repair.
            let _ = tcsetattr(stdin(), OptionalActions::Now, &self.before);
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

    impl Keys {
        pub fn open() -> Option<Keys> {
            None
        }

        pub fn key(&self) -> Option<u8> {
            None
        }
    }
}
