//! Which variables of the caller's shell a command gets: those of a fixed list, with their values.

use std::collections::BTreeMap;
use std::ffi::OsString;

use runseal_secrets::variables::find_secret;

/// Variables that say where one is, how one wants things, and where programs are.
pub const PASSED: [&str; 84] = [
    "ANDROID_HOME",
    "BLIS_NUM_THREADS",
    "BUNDLE_GEMFILE",
    "CARGO_HOME",
    "CARGO_TARGET_DIR",
    "CC",
    "CFLAGS",
    "CLASSPATH",
    "CLICOLOR",
    "CMAKE_PREFIX_PATH",
    "COLORTERM",
    "COLUMNS",
    "CPATH",
    "CPPFLAGS",
    "CUBLAS_WORKSPACE_CONFIG",
    "CUDA_HOME",
    "CUDA_VISIBLE_DEVICES",
    "CXX",
    "CXXFLAGS",
    "DENO_DIR",
    "DOTNET_ROOT",
    "EDITOR",
    "FC",
    "FFLAGS",
    "FORCE_COLOR",
    "GEM_HOME",
    "GEM_PATH",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOROOT",
    "GOTOOLCHAIN",
    "HOME",
    "JAVA_HOME",
    "JULIA_DEPOT_PATH",
    "JULIA_NUM_THREADS",
    "JULIA_PROJECT",
    "LANG",
    "LANGUAGE",
    "LDFLAGS",
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "LIBRARY_PATH",
    "LINES",
    "LOGNAME",
    "LS_COLORS",
    "MAKEFLAGS",
    "MANPATH",
    "MKL_NUM_THREADS",
    "MPLBACKEND",
    "NODE_OPTIONS",
    "NODE_PATH",
    "NO_COLOR",
    "NUMEXPR_NUM_THREADS",
    "OLDPWD",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "PATH",
    "PERL5LIB",
    "PKG_CONFIG_PATH",
    "POSIXLY_CORRECT",
    "PWD",
    "PYTHONHASHSEED",
    "PYTHONPATH",
    "RAYON_NUM_THREADS",
    "RBENV_VERSION",
    "RUBYLIB",
    "RUSTFLAGS",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "R_HOME",
    "R_LIBS",
    "SDKMAN_DIR",
    "SHELL",
    "SHLVL",
    "SOURCE_DATE_EPOCH",
    "TERM",
    "TEXINPUTS",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
    "VISUAL",
    "VOLTA_HOME",
];

/// Names that begin so are passed too, with what follows in these words if there are any.
pub const PASSED_BEGINNINGS: [(&str, &[&str]); 14] = [
    ("BASH_FUNC_", &["module%%", "ml%%"]),
    (
        "CONDA_",
        &["DEFAULT_ENV", "EXE", "PREFIX", "PYTHON_EXE", "SHLVL"],
    ),
    ("GUIX_", &["PROFILE", "LOCPATH"]),
    ("LC_", &[]),
    ("LMOD_", &["CMD", "DIR", "PKG", "ROOT", "VERSION"]),
    ("MAMBA_", &["EXE", "ROOT_PREFIX"]),
    ("MODULE", &["PATH", "SHOME"]),
    ("NIX_", &["PATH", "PROFILES"]),
    ("NVM_", &["BIN", "DIR", "INC"]),
    ("OMP_", &["DYNAMIC", "PLACES", "PROC_BIND", "SCHEDULE"]),
    ("PYENV_", &["ROOT", "SHELL", "VERSION", "VIRTUAL_ENV"]),
    (
        "PYTHON",
        &[
            "BREAKPOINT",
            "DEVMODE",
            "DONTWRITEBYTECODE",
            "FAULTHANDLER",
            "HOME",
            "IOENCODING",
            "NOUSERSITE",
            "OPTIMIZE",
            "STARTUP",
            "UNBUFFERED",
            "USERBASE",
            "UTF8",
            "WARNINGS",
        ],
    ),
    ("R_LIBS_", &["SITE", "USER"]),
    (
        "XDG_",
        &[
            "CACHE_HOME",
            "CONFIG_DIRS",
            "CONFIG_HOME",
            "DATA_DIRS",
            "DATA_HOME",
            "STATE_HOME",
        ],
    ),
];

/// What becomes of a shell's variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Variables {
    /// What the command gets.
    pub passed: BTreeMap<String, String>,
    /// The names of all others, sorted.
    pub left_out: Vec<String>,
}

/// Whether the list has a name.
fn is_passed(name: &str) -> bool {
    PASSED.binary_search(&name).is_ok()
        || PASSED_BEGINNINGS.iter().any(|(beginning, rest)| {
            let after = name.strip_prefix(beginning);
            after.is_some_and(|after| rest.is_empty() || rest.contains(&after))
        })
}

/// Divides the variables of a shell. One whose value looks like a key is left out like any other that is not on
/// the list, and so is one that is not text.
pub fn divide(all: impl IntoIterator<Item = (OsString, OsString)>) -> Variables {
    let mut divided = Variables::default();
    for (name, value) in all {
        let lossy = name.to_string_lossy().into_owned();
        match (name.into_string(), value.into_string()) {
            (Ok(name), Ok(value)) if is_passed(&name) && find_secret(&name, &value).is_none() => {
                divided.passed.insert(name, value);
            }
            // What a shell says of the last command is nobody's choice.
            _ if lossy == "_" => {}
            _ => divided.left_out.push(lossy),
        }
    }
    divided.left_out.sort();
    divided
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_is_sorted() {
        assert!(PASSED.is_sorted());
    }

    #[test]
    fn variables_are_divided_by_the_list_and_by_their_looks() {
        let all = [
            ("PATH", "/usr/bin"),
            ("LC_TIME", "de_DE.UTF-8"),
            ("CONDA_PREFIX", "/opt/conda"),
            ("CONDA_TOKEN", "x"),
            ("OPENAI_API_KEY", "sk-1234567890abcdef1234567890abcdef"),
            ("_", "/usr/bin/env"),
            ("LANG", "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ];
        let divided = divide(all.map(|(name, value)| (name.into(), value.into())));
        let passed: Vec<&str> = divided.passed.keys().map(String::as_str).collect();
        assert_eq!(passed, ["CONDA_PREFIX", "LC_TIME", "PATH"]);
        assert_eq!(divided.left_out, ["CONDA_TOKEN", "LANG", "OPENAI_API_KEY"]);
    }
}
