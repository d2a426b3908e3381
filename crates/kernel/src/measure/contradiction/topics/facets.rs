//! Facets: matters in which a thing takes one of several positions (its system, language of the interface, time zone,
//! order, protocol …), with the words by which each position shows.

/// How far a facet reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Several positions may hold at once, unless one is said to be the only one.
    Many,
    /// One thing has one position.
    One,
}

/// A facet: its name in a question, its reach, and for each position words and pairs of words.
pub(crate) struct Facet {
    pub name: &'static str,
    pub reach: Reach,
    pub positions: &'static [&'static str],
}

const fn facet(name: &'static str, reach: Reach, positions: &'static [&'static str]) -> Facet {
    Facet {
        name,
        reach,
        positions,
    }
}

/// The name of the facet of orders, which is read in a way of its own.
pub(crate) const ORDER: &str = "the order";
/// The name of the facet of time zones, where storing and showing are two matters.
pub(crate) const ZONE: &str = "the time zone";
/// The name of the facet of languages of the interface.
pub(crate) const TONGUE: &str = "the language of the texts";

/// All facets.
pub(crate) const FACETS: &[Facet] = &[
    facet(
        "the operating system",
        Reach::Many,
        &[
            "windows|msi|hkey_local_machine|powershell|direct2d|directx|direct3d|activex|winforms|wpf|win32|vbscript|clickonce|setup.exe|wmi|registry key|batch file|visual basic|iis|exe file|dll",
            "linux|ubuntu|debian|fedora|centos|rhel|alpine|systemd|raspbian|red hat|opensuse|suse|apt|deb package|rpm|crontab|gentoo|arch linux|rocky linux|mint|udev",
            "macos|mac os|os x|mac|macs|imac|macbook|dmg|homebrew|appkit|swiftui|launchd|applescript|mac mini",
            "android|apk|play store|google play|kotlin multiplatform|jetpack compose",
            "ios|iphone|iphones|ipad|ipads|testflight|app store|uikit",
            "freebsd|openbsd|netbsd|pkgsrc",
            "solaris|aix|hp-ux|illumos",
        ],
    ),
    facet(
        ZONE,
        Reach::One,
        &[
            "utc|gmt|universal time|zulu time|greenwich",
            "local time|cet|cest|summer time|wall-clock time|wall clock|european time|berlin time|standard time|est|pst|station time|browser's time|user's time|visitor's time",
        ],
    ),
    facet(
        "the front-end framework",
        Reach::One,
        &[
            "react|next.js|preact|redux|jsx",
            "vue|nuxt|vuex|pinia|vue.js",
            "angular|angularjs|rxjs",
            "svelte|sveltekit",
            "ember|ember.js",
            "solid.js|solidjs",
            "backbone.js|backbone",
            "htmx",
            "jquery",
            "blazor",
        ],
    ),
    facet(
        "the protocol",
        Reach::Many,
        &[
            "grpc|protobuf",
            "rest|http|https|curl|rest api|post|json over",
            "graphql",
            "soap|wsdl",
            "mqtt|mosquitto",
            "amqp|rabbitmq",
            "modbus",
            "opc ua|opc-ua",
            "can bus|canopen",
            "websocket|websockets",
            "coap",
            "ftp|sftp|ftps",
            "snmp",
        ],
    ),
    facet(
        "the processor",
        Reach::Many,
        &[
            "arm64|aarch64|arm|ampere|graviton|neon|raspberry pi|cortex-m4|cortex-a72|apple silicon",
            "x86|x86-64|x86_64|amd64|intel|avx-512|avx2|avx|avx512|sse4|sse2|sse|xeon|i386",
            "risc-v|riscv",
            "powerpc|ppc64",
            "mips",
            "s390x|mainframe",
        ],
    ),
    facet(
        "the shell",
        Reach::Many,
        &[
            "posix sh|posix shell|dash|bourne shell|busybox sh|plain sh",
            "bash|bash array|associative array|bashisms|bash 5|bash 4",
            "zsh|oh-my-zsh",
            "fish shell",
            "powershell|pwsh",
        ],
    ),
    facet(
        "the units",
        Reach::Many,
        &[
            "gram|grams|kilogram|kilograms|millilitre|millilitres|litre|litres|metre|metres|kilometre|kilometres|millimetre|millimetres|centimetre|centimetres|celsius|metric|metric units|kilopascal|kw|si units|hectare|hectares",
            "cup|cups|ounce|ounces|pound|pounds|inch|inches|foot|feet|mile|miles|gallon|gallons|fahrenheit|imperial|yard|yards|tablespoon|tablespoons|psi|acre|acres|stone|pint|pints",
        ],
    ),
    facet(
        "the format of the mail",
        Reach::Many,
        &[
            "plain-text|plain text|text only",
            "html mail|html e-mail|html email|html template|html newsletter|html",
        ],
    ),
    facet(
        "the web server",
        Reach::One,
        &[
            "nginx",
            "apache|httpd",
            "caddy",
            "iis",
            "traefik",
            "haproxy",
            "lighttpd",
        ],
    ),
    facet(
        "the build tool",
        Reach::One,
        &[
            "maven|pom.xml",
            "gradle|build.gradle",
            "bazel",
            "meson",
            "cmake",
            "webpack",
            "vite",
            "rollup",
            "parcel",
            "esbuild",
        ],
    ),
    facet(
        "the package manager",
        Reach::One,
        &["npm", "yarn", "pnpm", "bun"],
    ),
    facet(
        "the indentation",
        Reach::One,
        &["tabs|tab characters", "spaces|four spaces|two spaces"],
    ),
    facet(
        "the place of the code",
        Reach::One,
        &[
            "github",
            "gitlab",
            "bitbucket",
            "gitea",
            "forgejo",
            "codeberg",
        ],
    ),
    facet(
        "the browser",
        Reach::Many,
        &[
            "firefox",
            "chrome|chromium",
            "safari",
            "edge",
            "internet explorer",
            "opera",
        ],
    ),
    facet(
        "the coordinates",
        Reach::One,
        &[
            "epsg:25832|25832|utm|easting",
            "4326|wgs84|wgs 84|longitude|latitude",
            "3857|web mercator",
            "gauss-krüger|31467",
            "27700|osgb36",
            "2056|lv95",
        ],
    ),
    facet(
        "the license of the code",
        Reach::One,
        &[
            "mit",
            "gpl|gplv3|gpl-3.0|gplv2",
            "apache-2.0",
            "agpl|agplv3",
            "bsd",
            "mpl|mpl-2.0",
            "proprietary|closed-source",
        ],
    ),
    facet(
        "how names are written",
        Reach::One,
        &[
            "snake_case|snake case",
            "camelcase|camel case|camel-case",
            "kebab-case|kebab case",
            "pascalcase|pascal case",
        ],
    ),
    facet(
        ORDER,
        Reach::One,
        &[
            "newest|latest|most recent|youngest|reverse chronological|freshest",
            "oldest|earliest|chronological|chronologically",
            "cheapest|lowest price|price ascending",
            "dearest|most expensive|highest price|costliest",
            "alphabetical|alphabetically|a to z|by name|by title|by surname|from a|by author|lexicographically",
            "z to|reverse alphabetical",
            "nearest|closest|by distance",
            "largest|biggest|highest|most frequent",
            "smallest|lowest",
            "fastest|quickest|best time|shortest time",
            "slowest",
            "most popular|by popularity|most read|most viewed|most votes|most liked",
            "best rated|by rating|top-rated|best-rated|highest rated",
            "random order|shuffled|by lot|at random|randomly",
            "most urgent|by priority|by urgency|highest priority|most important",
            "by relevance|most relevant|best match",
            "by price",
            "by date|by time|by day",
            "by size|by length|by weight",
            "by number|by id|numerically",
            "longest",
            "shortest",
        ],
    ),
];
