//! What no command ever sees, whoever runs it: one table, which docs/world.md shows.
//!
//! It names places where people and programs keep keys, passwords, tokens and private life. `--hide` adds to it, and
//! `--input` opens a single one.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One kind of thing that is hidden.
#[derive(Debug, Clone, Copy)]
pub struct HiddenKind {
    /// What it is, for people.
    pub title: &'static str,
    /// Paths: those without a leading slash are below the home folder.
    pub paths: &'static [&'static str],
}

/// All of them.
pub const HIDDEN: [HiddenKind; 9] = [
    HiddenKind {
        title: "Keys for other machines",
        paths: &[
            ".ssh",
            ".gnupg",
            ".putty",
            ".pki",
            ".age",
            ".config/age",
            ".config/sops",
            ".minisign",
            ".krb5",
            ".step",
        ],
    },
    HiddenKind {
        title: "Clouds and clusters",
        paths: &[
            ".aws",
            ".azure",
            ".kube",
            ".docker",
            ".config/gcloud",
            ".config/doctl",
            ".config/hcloud",
            ".config/containers/auth.json",
            ".config/helm",
            ".config/rclone",
            ".config/scw",
            ".boto",
            ".s3cfg",
            ".mc",
            ".oci",
            ".terraform.d",
            ".terraformrc",
            ".pulumi",
            ".vault-token",
            ".config/heroku",
            ".fly",
            ".vercel",
            ".config/netlify",
            ".wrangler",
            ".config/.wrangler",
        ],
    },
    HiddenKind {
        title: "Registries and code hosts",
        paths: &[
            ".netrc",
            ".git-credentials",
            ".config/git/credentials",
            ".config/gh",
            ".config/glab-cli",
            ".config/hub",
            ".npmrc",
            ".yarnrc.yml",
            ".pypirc",
            ".config/pypoetry/auth.toml",
            ".cargo/credentials",
            ".cargo/credentials.toml",
            ".gem/credentials",
            ".bundle/config",
            ".m2/settings.xml",
            ".m2/settings-security.xml",
            ".gradle/gradle.properties",
            ".composer/auth.json",
            ".config/composer/auth.json",
            ".nuget/NuGet",
            ".hex",
            ".subversion/auth",
            ".config/pip/pip.conf",
            ".pip/pip.conf",
            ".condarc",
        ],
    },
    HiddenKind {
        title: "Models and data",
        paths: &[
            ".claude",
            ".claude.json",
            ".codex",
            ".gemini",
            ".config/openai",
            ".config/anthropic",
            ".config/github-copilot",
            ".config/goose",
            ".local/share/opencode",
            ".cache/huggingface/token",
            ".cache/huggingface/stored_tokens",
            ".huggingface",
            ".kaggle",
            ".config/kaggle",
            ".config/wandb",
            ".comet.config",
            ".dbt",
            ".databrickscfg",
            ".snowflake",
            ".snowsql",
            ".pgpass",
            ".my.cnf",
            ".mylogin.cnf",
            ".mongorc.js",
            ".dvc/config.local",
            ".config/dvc",
        ],
    },
    HiddenKind {
        title: "Passwords and keyrings",
        paths: &[
            ".password-store",
            ".local/share/keyrings",
            ".local/share/kwalletd",
            ".kde/share/apps/kwallet",
            ".config/keepassxc",
            ".config/Bitwarden",
            ".config/Bitwarden CLI",
            ".config/1Password",
            ".config/op",
            ".op",
            ".lastpass",
            ".local/share/lpass",
            ".authinfo",
            ".authinfo.gpg",
        ],
    },
    HiddenKind {
        title: "Browsers, mail and messages",
        paths: &[
            ".mozilla",
            ".thunderbird",
            ".config/google-chrome",
            ".config/chromium",
            ".config/BraveSoftware",
            ".config/microsoft-edge",
            ".config/opera",
            ".config/vivaldi",
            ".librewolf",
            ".tor-browser",
            ".var/app",
            "snap",
            ".evolution",
            ".config/evolution",
            ".local/share/evolution",
            ".config/Signal",
            ".config/Slack",
            ".config/discord",
            ".local/share/TelegramDesktop",
            ".config/Element",
            ".mutt",
            ".muttrc",
            ".mbsyncrc",
            ".msmtprc",
            ".fetchmailrc",
            ".offlineimaprc",
            ".config/neomutt",
            "Mail",
            "Maildir",
            ".Mail",
        ],
    },
    HiddenKind {
        title: "What was typed",
        paths: &[
            ".bash_history",
            ".zsh_history",
            ".zhistory",
            ".history",
            ".sh_history",
            ".ash_history",
            ".python_history",
            ".ipython/profile_default/history.sqlite",
            ".node_repl_history",
            ".irb_history",
            ".psql_history",
            ".mysql_history",
            ".sqlite_history",
            ".rediscli_history",
            ".mongo",
            ".dbshell",
            ".lesshst",
            ".viminfo",
            ".wget-hsts",
            ".local/share/fish/fish_history",
            ".local/share/atuin",
            ".local/state/python_history",
            ".Rhistory",
            ".julia/logs",
        ],
    },
    HiddenKind {
        title: "Wallets",
        paths: &[
            ".bitcoin",
            ".ethereum",
            ".monero",
            ".litecoin",
            ".dogecoin",
            ".electrum",
            ".config/solana",
            ".config/Exodus",
            ".config/Ledger Live",
        ],
    },
    HiddenKind {
        title: "The machine's own",
        paths: &[
            "/etc/shadow",
            "/etc/shadow-",
            "/etc/gshadow",
            "/etc/gshadow-",
            "/etc/sudoers",
            "/etc/sudoers.d",
            "/etc/security/opasswd",
            "/etc/ssh/ssh_host_dsa_key",
            "/etc/ssh/ssh_host_ecdsa_key",
            "/etc/ssh/ssh_host_ed25519_key",
            "/etc/ssh/ssh_host_rsa_key",
            "/etc/ssl/private",
            "/etc/pki/tls/private",
            "/etc/letsencrypt",
            "/etc/krb5.keytab",
            "/etc/wireguard",
            "/etc/openvpn",
            "/etc/ipsec.secrets",
            "/etc/ipsec.d/private",
            "/etc/swanctl/private",
            "/etc/NetworkManager/system-connections",
            "/etc/wpa_supplicant",
            "/etc/kubernetes",
            "/etc/rancher",
            "/etc/docker/key.json",
            "/var/backups",
            "/var/lib/AccountsService",
            "/var/lib/NetworkManager",
            "/var/lib/bluetooth",
            "/var/lib/containerd",
            "/var/lib/containers",
            "/var/lib/docker",
            "/var/lib/kubelet",
            "/var/lib/libvirt",
            "/var/lib/lxc",
            "/var/lib/lxd",
            "/var/lib/mysql",
            "/var/lib/postgresql",
            "/var/lib/private",
            "/var/lib/rancher",
            "/var/lib/sss",
            "/var/log",
            "/var/mail",
            "/var/spool",
        ],
    },
];

/// Every path of the table, for these homes.
pub(super) fn listed(homes: &[PathBuf]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for name in HIDDEN.iter().flat_map(|kind| kind.paths) {
        if name.starts_with('/') {
            found.insert(PathBuf::from(name));
        }
        for home in homes.iter().filter(|_| !name.starts_with('/')) {
            found.insert(home.join(name));
        }
    }
    found
}

/// The homes of others: those of people in the list of users, of root, and folders in /home that another user
/// owns.
pub(super) fn homes_of_others(users: &str, own: &[PathBuf]) -> BTreeSet<PathBuf> {
    let home_of = |line: &str| {
        let mut fields = line.split(':');
        let uid: u32 = fields.nth(2)?.parse().ok()?;
        let home = PathBuf::from(fields.nth(2)?);
        (uid == 0 || uid >= FIRST_PERSON).then_some(home)
    };
    let mut homes: BTreeSet<PathBuf> = users.lines().filter_map(home_of).collect();
    let caller = rustix::process::geteuid().as_raw();
    for entry in fs::read_dir("/home").into_iter().flatten().flatten() {
        let is_others = entry
            .metadata()
            .is_ok_and(|found| found.is_dir() && found.uid() != 0 && found.uid() != caller);
        // Programs for everybody, at the one place that they were built for.
        if is_others && entry.file_name() != "linuxbrew" {
            homes.insert(entry.path());
        }
    }
    homes.retain(|home| {
        // `/`, `/nonexistent` and the like are nobody's home.
        home.is_dir()
            && home.components().count() > 1
            && !home.starts_with("/home/linuxbrew")
            && !runseal_sandbox::is_program_place(home)
            && [
                "/dev", "/proc", "/sys", "/run", "/tmp", "/var", "/etc", "/opt", "/srv", "/home",
            ]
            .iter()
            .all(|top| home != Path::new(top))
            && !own.iter().any(|own| own.starts_with(home))
    });
    homes
}

/// The first number that people have.
const FIRST_PERSON: u32 = 1000;

/// The same paths and, for those that are there, what they are without links.
pub(super) fn with_real_paths(paths: impl IntoIterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    for path in paths {
        all.extend(path.canonicalize());
        all.insert(path);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_names_each_path_once_and_none_is_a_whole_top() {
        let all: Vec<&str> = HIDDEN
            .iter()
            .flat_map(|kind| kind.paths.iter().copied())
            .collect();
        let distinct: BTreeSet<&str> = all.iter().copied().collect();
        assert_eq!(all.len(), distinct.len());
        for path in all {
            assert!(!path.ends_with('/') && !path.contains("//"), "{path}");
            assert!(
                !path.starts_with('/') || path.matches('/').count() > 1,
                "{path}"
            );
        }
    }

    #[test]
    fn page_lists_the_whole_table() {
        let page = include_str!("../../../../docs/world.md");
        for kind in &HIDDEN {
            let row = page
                .lines()
                .find(|line| line.starts_with(&format!("| {} |", kind.title)));
            let row = row.unwrap_or_else(|| panic!("{}", kind.title));
            for path in kind.paths {
                let named = match path.starts_with('/') {
                    true => format!("`{path}`"),
                    false => format!("`~/{path}`"),
                };
                assert!(row.contains(&named), "{named}");
            }
        }
    }

    #[test]
    fn homes_of_others_are_those_of_people() {
        let folder = tempfile::tempdir().unwrap();
        let home = |name: &str| {
            let path = folder.path().join(name);
            fs::create_dir(&path).unwrap();
            path
        };
        let (own, other, service) = (home("own"), home("other"), home("service"));
        let users = format!(
            "own:x:1001:1001::{}:/bin/sh\nother:x:1002:1002::{}:/bin/sh\nd:x:33:33::{}:/\nn:x:65534:1::/:/\n",
            own.display(),
            other.display(),
            service.display()
        );
        let found = homes_of_others(&users, std::slice::from_ref(&own));
        assert!(found.contains(&other));
        assert!(!found.contains(&own) && !found.contains(&service));
        assert!(!found.contains(Path::new("/")));
    }
}
