//! From a [`View`] to steps: which mounts, folders, links and files make up the command's root, outer ones first.
//!
//! The host is only looked at, here, before the first fork. Folders of programs are shown as they are; every other
//! folder through an overlay, whose top layer has a whiteout for each hidden name, so that no mount point betrays
//! it and nothing that the host puts there later shows. Sockets and named pipes below an overlay are inodes of its
//! own: they lead to nobody on the host.
//!
//! An overlay shows one file system. A folder below which the host has mounted something is made anew, name by
//! name, down to where something is mounted ([`Step::Folder`]).

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{CString, OsStr};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use super::mounts::{READ_ONLY, c_string, look_error};
use super::top_layer::{self, Top};
use crate::error::{Layer, SandboxError, SpecError};
use crate::view::{PROGRAM_FOLDERS, View, ViewAccess, ViewPlace};

/// How what the host has is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seeing {
    /// Through overlays.
    Overlays,
    /// As it is, where there can be no overlays: hidden things are covered, and sockets lead to the host.
    Binds,
}

/// One thing to put at a path inside.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// A folder of the root itself.
    Folder {
        mode: u32,
        owner: (u32, u32),
    },
    Link {
        target: CString,
    },
    /// A file of the sandbox's own.
    File {
        content: &'static str,
    },
    Bind(Bind),
    Overlay(Overlay),
    /// A file system in memory.
    Memory {
        options: Vec<(&'static str, String)>,
    },
    /// A file system in memory that stays as it is once everything is in place.
    Empty,
    /// A file system of the kernel's.
    Kernel {
        kind: KernelFiles,
    },
}

/// A file system of the kernel's that the command gets an instance of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum KernelFiles {
    Proc,
    Terminals,
}

/// Something of the host that is shown as it is.
#[derive(Debug, Clone)]
pub(super) struct Bind {
    pub(super) layer: Layer,
    pub(super) host: CString,
    pub(super) is_folder: bool,
    pub(super) attributes: u64,
    /// Whose files look like the command's own.
    pub(super) owner: Option<(u32, u32)>,
    /// Whether a view without that mapping will do.
    pub(super) with_inner: bool,
}

/// Folders of the host, merged.
#[derive(Debug, Clone)]
pub(super) struct Overlay {
    pub(super) layer: Layer,
    /// The lower layers, the first on top, each with the owner whose files look like the command's own.
    pub(super) lowers: Vec<(CString, Option<(u32, u32)>)>,
    /// What lies over them and cannot be written either.
    pub(super) top: Vec<Top>,
    pub(super) upper: Option<Upper>,
}

/// Where changes go.
#[derive(Debug, Clone)]
pub(super) struct Upper {
    pub(super) storage: UpperStorage,
    pub(super) mode: u32,
    /// The command's user on the host, if that is another than the caller.
    pub(super) user: Option<(u32, u32)>,
    /// Whether it is the recorded folder's: that one comes first among those that are handed out.
    pub(super) is_recorded: bool,
}

#[derive(Debug, Clone)]
pub(super) enum UpperStorage {
    Memory(Vec<(&'static str, String)>),
    /// An empty folder of the caller's.
    Disk(CString),
}

pub(super) type Steps = BTreeMap<PathBuf, Step>;

/// Plans what a view shows.
pub(super) struct Planner<'a> {
    pub(super) steps: Steps,
    view: &'a View,
    seeing: Seeing,
    /// The command's user, if the caller is root.
    user: Option<(u32, u32)>,
    /// Paths inside at which something is put for itself.
    points: BTreeSet<PathBuf>,
    hidden: BTreeSet<PathBuf>,
    /// Where the host has mounted something.
    mounted: Vec<PathBuf>,
    /// Makes the storage of a layered place.
    make_upper: &'a dyn Fn() -> Result<UpperStorage, SandboxError>,
}

impl<'a> Planner<'a> {
    /// `others` are the paths inside of what is put in place beside the view.
    pub(super) fn new(
        view: &'a View,
        seeing: Seeing,
        user: Option<(u32, u32)>,
        others: impl Iterator<Item = PathBuf>,
        make_upper: &'a dyn Fn() -> Result<UpperStorage, SandboxError>,
    ) -> Planner<'a> {
        let places = view.places.iter().map(|place| place.inside.clone());
        let mountinfo = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        Planner {
            steps: Steps::new(),
            view,
            seeing,
            user,
            points: others.chain(places).collect(),
            hidden: view.hidden.iter().cloned().collect(),
            mounted: mount_points(&mountinfo),
            make_upper,
        }
    }

    /// The steps for all places of the view.
    pub(super) fn plan(mut self) -> Result<Steps, SandboxError> {
        let view = self.view;
        for place in &view.places {
            self.place(place)?;
        }
        Ok(self.steps)
    }

    /// The overlay of the recorded folder at `inside`.
    pub(super) fn recorded(
        &self,
        inside: &Path,
        host: &Path,
        owner: Option<(u32, u32)>,
        upper: Upper,
    ) -> Result<Overlay, SandboxError> {
        let sources = [host.to_owned()];
        Ok(Overlay {
            layer: Layer::LayeredFolder,
            lowers: vec![(c_string(host.as_os_str())?, owner)],
            top: match self.seeing {
                Seeing::Overlays => self.top(inside, &sources),
                Seeing::Binds => Vec::new(),
            },
            upper: Some(upper),
        })
    }

    fn place(&mut self, place: &ViewPlace) -> Result<(), SandboxError> {
        let mut sources = Vec::new();
        for source in &place.sources {
            match fs::canonicalize(source) {
                Ok(real) => sources.push(real),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                // Then the command may not look at it either.
                Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {}
                Err(error) => return Err(look_error(error)),
            }
        }
        let is_own_path = place.sources.first().is_some_and(|it| *it == place.inside);
        let Some(real) = sources.first().cloned() else {
            return Ok(());
        };
        if !is_own_path || real == place.inside || sources.len() > 1 {
            return self.visit(&place.inside, &sources, place);
        }
        // Named over a link: the link, and what it leads to if nothing else shows that.
        if !self.shows_already(&place.inside, place) {
            let target = match fs::read_link(&place.inside) {
                Ok(target) if self.is_straight(&place.inside, &target, &real) => target,
                _ => real.clone(),
            };
            let target = c_string(target.as_os_str())?;
            self.steps
                .insert(place.inside.clone(), Step::Link { target });
        } else {
            self.points.remove(&place.inside);
        }
        crate::view::check_view_place(&real).map_err(SandboxError::from)?;
        let is_shown = self.view.places.iter().any(|it| it.inside == real);
        if is_shown || self.shows_already(&real, place) {
            return Ok(());
        }
        self.points.insert(real.clone());
        self.visit(&real, &sources, place)
    }

    /// Whether a link leads to a file or folder over nothing that the command does not see, such as another link.
    fn is_straight(&self, link: &Path, target: &Path, real: &Path) -> bool {
        let mut next = link.parent().unwrap_or(link).to_owned();
        for part in target.components() {
            match part {
                Component::ParentDir => {
                    next.pop();
                }
                Component::CurDir => {}
                other => next.push(other),
            }
        }
        next == real || self.view.shows(&next)
    }

    /// Whether what is at a path of the host is shown there by the place around it, with the same rights.
    fn shows_already(&self, path: &Path, place: &ViewPlace) -> bool {
        let outer = self
            .view
            .places
            .iter()
            .filter(|it| path.starts_with(&it.inside) && it.inside != *path && *it != place)
            .max_by_key(|it| it.inside.components().count());
        let is_mapped = place.is_own && self.user.is_some();
        outer.is_some_and(|outer| {
            outer.sources.first() == Some(&outer.inside)
                && (outer.is_own || !is_mapped)
                && !self
                    .hidden
                    .iter()
                    .any(|hidden| path.starts_with(hidden) && !outer.inside.starts_with(hidden))
        })
    }

    fn visit(
        &mut self,
        inside: &Path,
        sources: &[PathBuf],
        place: &ViewPlace,
    ) -> Result<(), SandboxError> {
        let Some((first, metadata)) = sources
            .iter()
            .find_map(|source| Some((source, fs::symlink_metadata(source).ok()?)))
        else {
            return Ok(());
        };
        if metadata.is_symlink() {
            let target = fs::read_link(first).map_err(look_error)?;
            let target = c_string(target.as_os_str())?;
            self.steps.insert(inside.to_owned(), Step::Link { target });
            return Ok(());
        }
        if metadata.is_file() {
            let bind = self.bind(first, &metadata, place)?;
            self.steps.insert(inside.to_owned(), Step::Bind(bind));
            return Ok(());
        }
        if !metadata.is_dir() {
            return Ok(());
        }
        let folders: Vec<PathBuf> = sources
            .iter()
            .filter(|source| fs::symlink_metadata(source).is_ok_and(|it| it.is_dir()))
            .cloned()
            .collect();
        if self.shows_as_it_is(inside, &folders, place) {
            let bind = self.bind(first, &metadata, place)?;
            self.steps.insert(inside.to_owned(), Step::Bind(bind));
            return Ok(());
        }
        if self.seeing == Seeing::Binds {
            return self.cover(inside, first, &metadata, place);
        }
        if self.has_mounts_below(inside, &folders) {
            return self.skeleton(inside, &folders, &metadata, place);
        }
        let is_empty =
            |folder: &PathBuf| fs::read_dir(folder).is_ok_and(|mut it| it.next().is_none());
        if place.access == ViewAccess::ReadOnly && folders.iter().all(is_empty) {
            self.steps.insert(inside.to_owned(), folder_step(&metadata));
            return Ok(());
        }
        let lowers = folders.iter().map(|folder| {
            let metadata = fs::symlink_metadata(folder).map_err(look_error)?;
            Ok((c_string(folder.as_os_str())?, self.owner(place, &metadata)))
        });
        let lowers: Result<Vec<_>, SandboxError> = lowers.collect();
        let upper = match place.access {
            ViewAccess::ReadOnly => None,
            ViewAccess::Layered => Some(Upper {
                storage: (self.make_upper)()?,
                mode: metadata.mode() & 0o7777,
                user: self.user,
                is_recorded: false,
            }),
        };
        let mut top = self.top(inside, &folders);
        if let Some(user) = self.user.filter(|_| place.is_own) {
            top_layer::give(&mut top, metadata.uid(), user);
        }
        let overlay = Overlay {
            layer: Layer::View,
            lowers: lowers?,
            top,
            upper,
        };
        self.steps.insert(inside.to_owned(), Step::Overlay(overlay));
        self.open_hidden(inside);
        Ok(())
    }

    /// Whether a folder needs no overlay: one of programs, of which nothing is hidden and in which every mount
    /// point is there already.
    fn shows_as_it_is(&self, inside: &Path, sources: &[PathBuf], place: &ViewPlace) -> bool {
        let [source] = sources else {
            return false;
        };
        source == inside
            && place.access == ViewAccess::ReadOnly
            && PROGRAM_FOLDERS.iter().any(|it| inside == Path::new(it))
            && !self
                .hidden
                .iter()
                .any(|it| it.starts_with(inside) && fs::symlink_metadata(it).is_ok())
            && self
                .points
                .iter()
                .filter(|it| it.starts_with(inside))
                .all(|it| fs::symlink_metadata(it).is_ok_and(|found| !found.is_symlink()))
    }

    fn bind(
        &self,
        host: &Path,
        metadata: &Metadata,
        place: &ViewPlace,
    ) -> Result<Bind, SandboxError> {
        Ok(Bind {
            layer: Layer::ExtraMount,
            host: c_string(host.as_os_str())?,
            is_folder: metadata.is_dir(),
            attributes: READ_ONLY,
            owner: self.owner(place, metadata),
            with_inner: true,
        })
    }

    fn owner(&self, place: &ViewPlace, metadata: &Metadata) -> Option<(u32, u32)> {
        let is_mapped = place.is_own && self.user.is_some();
        is_mapped.then(|| (metadata.uid(), metadata.gid()))
    }

    /// Shows a folder as it is and covers what is hidden in it.
    fn cover(
        &mut self,
        inside: &Path,
        source: &Path,
        metadata: &Metadata,
        place: &ViewPlace,
    ) -> Result<(), SandboxError> {
        let bind = self.bind(source, metadata, place)?;
        self.steps.insert(inside.to_owned(), Step::Bind(bind));
        for hidden in self.hidden_below(inside) {
            let Ok(below) = hidden.strip_prefix(inside) else {
                continue;
            };
            match fs::symlink_metadata(source.join(below)) {
                Ok(found) if found.is_dir() => {
                    self.steps.insert(hidden, Step::Empty);
                }
                Ok(found) if found.is_file() => {
                    let nothing = Bind {
                        layer: Layer::View,
                        host: c"/dev/null".to_owned(),
                        is_folder: false,
                        attributes: READ_ONLY,
                        owner: None,
                        with_inner: false,
                    };
                    self.steps.insert(hidden, Step::Bind(nothing));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the host has something mounted below a folder that the command is to see.
    fn has_mounts_below(&self, inside: &Path, sources: &[PathBuf]) -> bool {
        sources.iter().any(|source| {
            let below = self
                .mounted
                .iter()
                .filter_map(|it| it.strip_prefix(source).ok());
            let mut shown = below
                .filter(|it| !it.as_os_str().is_empty())
                .map(|below| inside.join(below));
            shown.any(|it| !self.hidden.iter().any(|hidden| it.starts_with(hidden)))
        })
    }

    fn skeleton(
        &mut self,
        inside: &Path,
        sources: &[PathBuf],
        metadata: &Metadata,
        place: &ViewPlace,
    ) -> Result<(), SandboxError> {
        let step = match place.access {
            ViewAccess::ReadOnly => folder_step(metadata),
            ViewAccess::Layered => {
                let mut options = vec![("mode", format!("{:o}", metadata.mode() & 0o7777))];
                if let Some((uid, gid)) = self.user {
                    options.extend([("uid", uid.to_string()), ("gid", gid.to_string())]);
                }
                Step::Memory { options }
            }
        };
        self.steps.insert(inside.to_owned(), step);
        let listed = sources
            .iter()
            .flat_map(|source| fs::read_dir(source).into_iter().flatten());
        let names: BTreeSet<_> = listed.flatten().map(|entry| entry.file_name()).collect();
        for name in names {
            let child = inside.join(&name);
            let is_hidden = self.hidden.contains(&child);
            if is_hidden && self.points_below(&child).next().is_some() {
                self.steps.insert(child, Step::Empty);
            } else if !is_hidden && !self.points.contains(&child) {
                let inner: Vec<PathBuf> = sources.iter().map(|it| it.join(&name)).collect();
                self.visit(&child, &inner, place)?;
            }
        }
        Ok(())
    }

    /// Where something is opened again below a hidden folder, that is an empty one.
    fn open_hidden(&mut self, inside: &Path) {
        for hidden in self.hidden_below(inside) {
            if self.points_below(&hidden).next().is_some() {
                self.steps.insert(hidden, Step::Empty);
            }
        }
    }

    fn points_below(&self, path: &Path) -> impl Iterator<Item = &PathBuf> {
        self.points
            .iter()
            .filter(move |it| it.starts_with(path) && *it != path)
    }

    /// The outermost hidden paths that the place at `inside` would show.
    fn hidden_below(&self, inside: &Path) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = Vec::new();
        for hidden in self
            .hidden
            .iter()
            .filter(|it| it.starts_with(inside) && *it != inside)
        {
            let is_deeper = found.last().is_some_and(|outer| hidden.starts_with(outer));
            let is_others = self.points.iter().any(|point| {
                point.starts_with(inside) && point != inside && hidden.starts_with(point)
            });
            if !is_deeper && !is_others {
                found.push(hidden.clone());
            }
        }
        found
    }

    /// What lies over the sources of the place at `inside`: whiteouts, and mount points that are not there.
    fn top(&self, inside: &Path, sources: &[PathBuf]) -> Vec<Top> {
        let mut top = top_layer::TopLayer::new(sources);
        for hidden in self.hidden_below(inside) {
            let Ok(below) = hidden.strip_prefix(inside) else {
                continue;
            };
            match self.points_below(&hidden).next() {
                None => top.hide(below),
                Some(_) => top.make_point(below, true),
            }
        }
        for point in self.points_below(inside) {
            let inner = self
                .points_below(inside)
                .any(|outer| point.starts_with(outer) && outer != point);
            let is_in_hidden = self.hidden.iter().any(|it| {
                point.starts_with(it) && point != it && it.starts_with(inside) && it != inside
            });
            if let Ok(below) = point.strip_prefix(inside)
                && !inner
                && !is_in_hidden
            {
                top.make_point(below, self.is_folder(point));
            }
        }
        top.finish()
    }

    /// Whether what is put at a point is a folder.
    fn is_folder(&self, point: &Path) -> bool {
        let place = self.view.places.iter().find(|place| place.inside == *point);
        let sources = place.into_iter().flat_map(|place| &place.sources);
        let mut found = sources.filter_map(|source| fs::metadata(source).ok());
        found.next().is_none_or(|it| it.is_dir())
    }
}

fn folder_step(metadata: &Metadata) -> Step {
    Step::Folder {
        mode: metadata.mode() & 0o7777,
        owner: (metadata.uid(), metadata.gid()),
    }
}

/// A layered folder is at its own path: nothing may lead there over a link.
pub(super) fn check_without_links(folder: &Path) -> Result<Metadata, SandboxError> {
    if fs::canonicalize(folder).map_err(look_error)? != folder {
        return Err(SpecError::Place {
            path: folder.to_owned(),
            reason: "there is a link on the way to it",
        }
        .into());
    }
    let metadata = fs::metadata(folder).map_err(look_error)?;
    match metadata.is_dir() {
        true => Ok(metadata),
        false => Err(look_error(std::io::ErrorKind::NotADirectory.into())),
    }
}

/// All mount points, from the text of mountinfo.
pub(super) fn mount_points(mountinfo: &str) -> Vec<PathBuf> {
    let points = mountinfo.lines().filter_map(|line| line.split(' ').nth(4));
    points.map(unescape).collect()
}

/// Blanks and their like are written as octal numbers there.
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|it| std::str::from_utf8(it).ok());
        match octal.and_then(|it| u8::from_str_radix(it, 8).ok()) {
            Some(byte) if *first == b'\\' => {
                bytes.push(byte);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    let path: &OsStr = std::os::unix::ffi::OsStrExt::from_bytes(bytes.as_slice());
    PathBuf::from(path)
}
