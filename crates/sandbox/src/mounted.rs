//! Tells where another file system begins. Neither a layer nor a copy of a folder has what is mounted
//! below it, so whoever looks at the real folder on a command's behalf has to stop there.

use std::os::fd::AsFd;

use rustix::io::Errno;

/// Whether something else is mounted at `opened`, which was opened by its name in `above`: another file
/// system, or another part of the same one.
///
/// # Errors
/// The system's.
pub fn is_mounted(above: impl AsFd, opened: impl AsFd) -> Result<bool, Errno> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{AtFlags, StatxAttributes, StatxFlags};
        const ROOT: StatxAttributes = StatxAttributes::MOUNT_ROOT;
        let looked = rustix::fs::statx(&opened, c"", AtFlags::EMPTY_PATH, StatxFlags::empty());
        if let Ok(found) = looked
            && found.stx_attributes_mask.contains(ROOT)
        {
            return Ok(found.stx_attributes.contains(ROOT));
        }
    }
    // Before Linux 5.8 the device has to do: it tells file systems apart, not parts of one.
    Ok(rustix::fs::fstat(opened)?.st_dev != rustix::fs::fstat(above)?.st_dev)
}
