//! Folders of files with lists of them: bags, and lists of sums.

use runseal_core::formats::bag::collect::{BAGIT, INFO};
use runseal_core::formats::bag::manifest::{is_payload, manifest_name};
use runseal_core::formats::bag::tags::{BagInfo, Declaration};
use runseal_core::formats::checksums::LISTS;

use super::content::add_contents;
use super::{About, Block, Body, Description, Fact, size_text};
use crate::exhibit::Exhibit;
use crate::limits::ROWS;
use crate::reveal::counted;

/// Describes a bag: its payload, and what it says about itself.
pub(super) fn describe_bag<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let payload = exhibit.files.iter().filter(|file| is_payload(&file.path));
    let (count, bytes) = payload.fold((0, 0), |(count, bytes), file| {
        (count + 1, bytes + file.bytes)
    });
    description.headline = Some(format!("A bag of {}", counted(count, "file")));
    let content = |name: &str| exhibit.contents.get(name).map(Vec::as_slice);
    let declared = content(BAGIT).map(Declaration::parse);
    if let Some(declared) = declared.as_ref().filter(|read| read.faults.is_empty()) {
        let version = declared.version;
        description.add_fact("BagIt version", format!("{}.{}", version.0, version.1));
    }
    description.add_fact(
        "payload",
        format!("{}, {}", counted(count, "file"), size_text(bytes)),
    );
    let names = exhibit.files.iter().map(|file| file.path.as_str());
    let manifests: Vec<&str> = names.filter(|name| manifest_name(name).is_some()).collect();
    let manifests = if manifests.is_empty() {
        "none".to_owned()
    } else {
        manifests.join(", ")
    };
    description.add_fact("manifests", manifests);
    let info = INFO
        .into_iter()
        .find_map(|name| Some((name, content(name)?)));
    if let (Some((name, bytes)), Some(declared)) = (info, declared)
        && let Some(text) = declared.encoding.decode(bytes)
    {
        let entries = BagInfo::parse(&text).entries;
        let more = entries.len().saturating_sub(ROWS);
        let mut facts: Vec<Fact> = entries
            .into_iter()
            .take(ROWS)
            .map(|(label, value)| Fact { label, value })
            .collect();
        if more > 0 {
            facts.push(Fact {
                label: "…".to_owned(),
                value: format!("{}, not shown", counted(more, "more label")),
            });
        }
        if !facts.is_empty() {
            let block = Block::new("What it says about itself", Body::Facts(facts));
            description.asked.push(block.about(About::file(name)));
        }
    }
    add_caveats(description, exhibit);
    let payload = exhibit.files.iter().map(|file| file.path.as_str());
    let payload: Vec<_> = payload.filter(|path| is_payload(path)).collect();
    add_contents(description, exhibit, "payload file", payload.iter());
}

/// Describes a list of sums.
pub(super) fn describe_checksums<'a>(description: &mut Description<'a>, exhibit: &Exhibit<'a>) {
    let is_list = |path: &str| LISTS.contains(&path);
    let files = exhibit.files.iter().map(|file| file.path.as_str());
    let payload: Vec<_> = files.filter(|path| !is_list(path)).collect();
    let count = counted(payload.len(), "file");
    description.headline = Some(format!("{count} with a list of sums, not sealed"));
    add_caveats(description, exhibit);
    add_contents(description, exhibit, "file", payload.iter());
}

fn add_caveats(description: &mut Description<'_>, exhibit: &Exhibit<'_>) {
    for caveat in &exhibit.identity.caveats {
        description.add_fact("note", caveat.as_str());
    }
}
