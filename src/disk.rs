//! Making sure that what was written lasts.

use std::fs::File;
use std::path::Path;

/// Makes a new name in a folder last; not every file system can, and the file
/// itself is safe already.
pub(crate) fn sync_folder_of(path: &Path) {
    if cfg!(unix)
        && let Some(folder) = path.parent()
    {
        let folder = match folder == Path::new("") {
            true => Path::new("."),
            false => folder,
        };
        if let Ok(folder) = File::open(folder) {
            folder.sync_all().ok();
        }
    }
}
