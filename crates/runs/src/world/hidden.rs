//! What no command ever sees, whoever runs it: one table, which docs/world.md shows.
//!
//! It names places where people and programs keep keys, passwords, tokens and private life. `--hide` adds to it, and
//! `--input` opens a single one.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
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
pub const HIDDEN: [HiddenKind; 10] = [
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
            ".vnc",
            ".config/tigervnc",
            ".smbcredentials",
            ".Xauthority",
            ".ICEauthority",
            ".config/filezilla",
            ".filezilla",
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
            ".ngrok2",
            ".config/ngrok",
            ".cloudflared",
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
            ".sbt/credentials",
            ".sbt/.credentials",
            ".sbt/1.0/credentials.sbt",
            ".ivy2/.credentials",
            ".ivy2/.credentials-jfrog",
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
            ".ollama/id_ed25519",
            ".ollama/history",
            ".jupyter/jupyter_server_config.json",
            ".jupyter/jupyter_notebook_config.json",
            ".local/share/jupyter/runtime",
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
        title: "Editors",
        paths: &[
            ".config/Code",
            ".config/Code - Insiders",
            ".config/VSCodium",
            ".vscode-server/data",
            ".config/Cursor",
            ".cursor",
            ".cursor-server/data",
            ".config/Windsurf",
            ".codeium",
            ".config/JetBrains",
            ".config/zed",
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

/// A variable that moves something of the table, what it moves, and where that is then: below the variable's value, or
/// the value itself.
#[derive(Debug, Clone, Copy)]
pub struct Relocation {
    /// The name of the variable.
    pub variable: &'static str,
    /// The path in the table, or the folder of several.
    pub of: &'static str,
}

const fn moves(variable: &'static str, of: &'static str) -> Relocation {
    Relocation { variable, of }
}

/// The variables that are followed.
pub const RELOCATIONS: [Relocation; 30] = [
    moves("XDG_CONFIG_HOME", ".config"),
    moves("XDG_DATA_HOME", ".local/share"),
    moves("XDG_STATE_HOME", ".local/state"),
    moves("XDG_CACHE_HOME", ".cache"),
    moves("CARGO_HOME", ".cargo"),
    moves("GNUPGHOME", ".gnupg"),
    moves("KUBECONFIG", ".kube"),
    moves("DOCKER_CONFIG", ".docker"),
    moves("HF_HOME", ".cache/huggingface"),
    moves("HF_TOKEN_PATH", ".cache/huggingface/token"),
    moves("NPM_CONFIG_USERCONFIG", ".npmrc"),
    moves("npm_config_userconfig", ".npmrc"),
    moves("AWS_SHARED_CREDENTIALS_FILE", ".aws"),
    moves("AWS_CONFIG_FILE", ".aws"),
    moves("GOOGLE_APPLICATION_CREDENTIALS", ".config/gcloud"),
    moves("CLOUDSDK_CONFIG", ".config/gcloud"),
    moves("AZURE_CONFIG_DIR", ".azure"),
    moves("NETRC", ".netrc"),
    moves("PGPASSFILE", ".pgpass"),
    moves("PIP_CONFIG_FILE", ".config/pip/pip.conf"),
    moves("CONDARC", ".condarc"),
    moves("KAGGLE_CONFIG_DIR", ".kaggle"),
    moves("RCLONE_CONFIG", ".config/rclone"),
    moves("PASSWORD_STORE_DIR", ".password-store"),
    moves("GH_CONFIG_DIR", ".config/gh"),
    moves("XAUTHORITY", ".Xauthority"),
    moves("ICEAUTHORITY", ".ICEauthority"),
    moves("HISTFILE", ".bash_history"),
    moves("SOPS_AGE_KEY_FILE", ".config/sops"),
    moves("JUPYTER_CONFIG_DIR", ".jupyter"),
];

/// Where variables of `shell` move what the table hides. One whose value is not absolute moves nothing that is known.
pub(super) fn relocated(shell: &[(OsString, OsString)]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for (name, value) in shell {
        let moved = RELOCATIONS
            .iter()
            .filter(|it| OsStr::new(it.variable) == name);
        for Relocation { of, .. } in moved {
            // Of KUBECONFIG there may be several.
            for place in std::env::split_paths(value).filter(|place| place.is_absolute()) {
                found.extend(moved_to(of, &place));
            }
        }
    }
    found
}

fn moved_to(of: &str, place: &Path) -> Vec<PathBuf> {
    let paths = || HIDDEN.iter().flat_map(|kind| kind.paths);
    let below = paths().filter_map(|path| Path::new(path).strip_prefix(of).ok());
    let below = below.filter(|rest| !rest.as_os_str().is_empty());
    let mut moved: Vec<PathBuf> = below.map(|rest| place.join(rest)).collect();
    // A folder that is not hidden as a whole only has hidden things; and nobody can hide everything.
    let is_whole = paths().any(|path| *path == of);
    if is_whole && place.components().count() > 1 {
        moved.push(place.to_owned());
    }
    moved
}

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
    fn what_variables_move_is_hidden_where_it_is_then() {
        let shell = [
            ("CARGO_HOME", "/data/cargo"),
            ("XDG_CONFIG_HOME", "/data/config"),
            ("KUBECONFIG", "/data/a.yaml:/data/b.yaml"),
            ("NETRC", "/data/netrc"),
            ("GNUPGHOME", "relative"),
            ("DOCKER_CONFIG", "/"),
        ];
        let shell = shell.map(|(name, value)| (name.into(), value.into()));
        let found = relocated(&shell);
        for path in [
            "/data/cargo/credentials.toml",
            "/data/config/gcloud",
            "/data/config/gh",
            "/data/a.yaml",
            "/data/b.yaml",
            "/data/netrc",
        ] {
            assert!(found.contains(Path::new(path)), "{path}");
        }
        for path in ["/data/cargo", "/data/config", "relative", "/"] {
            assert!(!found.contains(Path::new(path)), "{path}");
        }
    }

    #[test]
    fn every_relocation_moves_something_and_the_page_names_it() {
        let page = include_str!("../../../../docs/world.md");
        for it in &RELOCATIONS {
            assert!(
                !moved_to(it.of, Path::new("/a/b")).is_empty(),
                "{}",
                it.variable
            );
            assert!(
                page.contains(&format!("`{}`", it.variable)),
                "{}",
                it.variable
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
