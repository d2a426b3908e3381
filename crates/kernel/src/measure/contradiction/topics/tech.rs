//! Technology and state: classes of things that are ruled out, and what belongs to them; what stays and what changes.
//!
//! A class is a topic whose second side lists its members (products, functions, files by which it shows that the class
//! is used). [`NOUNS`] names the class, so that every way to deny the noun rules out the members (see `kinds`).

use super::super::cues::{Topic, joined, near, topic, whole};

/// Topic or family, and the nouns (one or two words) that name what its first side rules out.
pub(crate) const NOUNS: &[(&str, &str)] = &[
    (
        FLOATS,
        "floating-point|floating point|float|double|fpu|decimal fraction",
    ),
    (
        HEAP,
        "heap|malloc|dynamic memory|dynamic allocation|memory allocation|allocator|allocation|heap allocation",
    ),
    (INTERRUPTS, "interrupt|isr|interrupt handler"),
    (
        CONTAINERS,
        "container|docker|containerisation|containerization|kubernetes|container runtime|podman",
    ),
    (
        MACHINES,
        "virtual machine|vm|hypervisor|virtualisation|virtualization",
    ),
    (
        THIRD,
        "third-party|third party|external server|foreign server|external host|external domain|external resource|external request|external source|other domain|outside server|external service|foreign domain|external content",
    ),
    (PERMISSIONS, "permission|app permission|device permission"),
    (
        RUNTIME,
        "runtime|interpreter|jre|jvm|java|prerequisite|shared library|runtime environment|virtual machine",
    ),
    (
        RIGHTS,
        "admin right|administrator right|administrative right|root|sudo|root right|root privilege|admin privilege|elevated right|elevated privilege|administrator privilege|superuser|root access|elevation|privilege|admin account|administrator account",
    ),
    (MACROS, "macro|vba"),
    (
        PROPRIETARY,
        "proprietary|proprietary software|commercial software|closed-source|commercial licence|commercial license|commercial product|licence fee|license fee|paid software",
    ),
    (
        WINDOW,
        "gui|graphical interface|graphical|desktop environment|display|screen|monitor|window|x11",
    ),
    (THREADS, "thread|threading|multithreading|concurrency"),
    (RECURSION, "recursion|recursive"),
    (
        CONFIG,
        "configuration file|config file|settings file|configuration|ini file|yaml",
    ),
    (UNSAFE, "unsafe|raw pointer"),
    (GLOBALS, "global|global variable|global state|singleton"),
    (SMARTPHONE, "smartphone|app|smart phone"),
    (WINDOWS, "windows"),
    (LINUX, "linux"),
    (APPLE, "mac|macos|apple|macbook"),
    (PHP, "php"),
    (JAVA, "java|jvm"),
    (
        BROWSER_STORE,
        "localstorage|local storage|browser storage|sessionstorage|indexeddb",
    ),
    (RADIO, "radio|wireless|transmitter"),
    (QUEUES, "message broker|broker|message queue|queue"),
    (SHELL, "shell|shell command|external program|subprocess"),
    (
        AI,
        "ai|artificial intelligence|language model|llm|machine learning|neural network",
    ),
    (EVAL, "eval|reflection|code generation"),
    (SQL, "sql|stored procedure|trigger"),
    (ORM, "orm"),
    (FLASH, "flash"),
    (PLUGINS, "plugin|plug-in|extension|add-on"),
    (TABLES, "layout table"),
    (ANIMATION, "animation|moving picture|motion|flashing"),
    (FONTS, "web font|webfont|external font"),
    (MAINS, "mains|power socket|mains power"),
    (
        SERVERS,
        "database server|db server|database service|database process",
    ),
    (
        TRIALS,
        "beta version|pre-release|prerelease|snapshot version|alpha version",
    ),
];

const FLOATS: &str = "floating-point numbers";
const HEAP: &str = "dynamic memory";
const INTERRUPTS: &str = "interrupts";
const CONTAINERS: &str = "containers";
const MACHINES: &str = "virtual machines";
const THIRD: &str = "requests to others";
const PERMISSIONS: &str = "permissions of the app";
const RUNTIME: &str = "what must be installed";
const RIGHTS: &str = "rights on the machine";
const MACROS: &str = "macros";
const PROPRIETARY: &str = "proprietary products";
const WINDOW: &str = "a graphical interface";
const THREADS: &str = "threads of the program";
const RECURSION: &str = "recursion";
const CONFIG: &str = "where settings come from";
const UNSAFE: &str = "unsafe code";
const GLOBALS: &str = "global state";
const SMARTPHONE: &str = "whether a smartphone is needed";
const WINDOWS: &str = "Windows";
const LINUX: &str = "Linux";
const APPLE: &str = "Apple systems";
const PHP: &str = "PHP";
const JAVA: &str = "Java";
const BROWSER_STORE: &str = "storage in the browser";
const RADIO: &str = "radio";
const QUEUES: &str = "message brokers";
const SHELL: &str = "programs that it calls";
const AI: &str = "artificial intelligence";
const EVAL: &str = "code made at run time";
const SQL: &str = "SQL";
const ORM: &str = "object-relational mappers";
const FLASH: &str = "Flash";
const PLUGINS: &str = "plug-ins";
const TABLES: &str = "tables for layout";
const ANIMATION: &str = "animations";
const FONTS: &str = "fonts from elsewhere";
const MAINS: &str = "mains power";
const OS: &str = "an operating system";
const SERVERS: &str = "a database server";
const TRIALS: &str = "unfinished versions";

/// Topics in which one side leaves the other no place, whatever the two statements share.
pub(crate) fn is_strong(name: &str) -> bool {
    const MORE: &[&str] = &[
        "byte order",
        "which characters are allowed",
        "the separator",
        "header line",
        "whether it is repeatable",
        "all or nothing",
        "secrets in the repository",
        "how passwords are kept",
        "whether the server can read it",
        "checking of certificates",
        "how much is held in memory",
        "a single point of failure",
        "fixed versions of parts",
        "whether the interface changes",
        "whether the structure changes",
        "whether the tables change",
        "licences of parts",
        "protection of stored data",
        "exceptions",
    ];
    NOUNS.iter().any(|(class, _)| *class == name) || MORE.contains(&name)
}

/// The topics.
pub(crate) const TOPICS: &[Topic] = &[
    // Classes and their members.
    whole(
        FLOATS,
        "integer [arithmetic/maths/math/only]|only integer|integers only|fixed-point [arithmetic/maths/only/numbers]|only fixed-point|fixed point arithmetic|only whole numbers|[calculates/computes/calculated/computed] ... integers",
        "as [a/] double|a double|[doubles/float32/float64/f32/f64]|double [precision/values/value/variable]|double-precision|as floats|as a float|in floats|of type [double/float]|floating-point [number/numbers/arithmetic/value/values/maths/unit]|ieee 754|32-bit floats|64-bit floats|single precision|a float|[sqrtf/cosf/sinf]|float [values/variable/column]",
    ),
    whole(
        HEAP,
        "statically allocated|[allocated/reserved] statically|all memory ... static|static [buffers/memory] only|static allocation|[allocated/reserved] at compile time",
        "[malloc/calloc/realloc/heap/vector/vec/arraylist/hashmap/stringbuilder/unique_ptr/make_unique/shared_ptr/make_shared/btreemap/linkedlist]|linked list|[grows/grow] as needed|dynamic [array/list/arrays/lists/buffer]|dynamically allocated|allocated dynamically|allocated ... [at runtime/at run time/on demand]|allocates ... [for each/per/on demand/at runtime]|growing [buffer/list/array]|string objects|new operator|garbage collector|java collections|std::string|operator new",
    ),
    whole(
        INTERRUPTS,
        "by polling|[polled/polls] in|polling only|interrupts [stay/are/remain/be] [disabled/off/masked]|interrupts disabled",
        "interrupt [handler/handlers/routine/service/controller/line/pin]|[an/each/every/the] interrupt|[isr/nvic/exti]|interrupt-driven|by interrupt|[raises/triggers/fires] ... interrupt|timer interrupt|via interrupt|uart interrupt|pin-change",
    ),
    whole(
        CONTAINERS,
        "bare metal|bare-metal|directly on the host|natively on",
        "[docker/podman/kubernetes/k8s/helm/containerd/dockerfile/docker-compose/k3s/openshift/lxc/buildah/minikube/rancher/kubectl]|oci image|in [a/] container|as [a/] container|container image|in containers|as containers|compose file|docker [compose/image/swarm/hub]|[pod/pods]",
    ),
    whole(
        MACHINES,
        "bare metal|bare-metal|physical [machine/server/hardware]",
        "[vmware/virtualbox/hyper-v/proxmox/kvm/qemu/vagrant/xen/esxi/vsphere/libvirt]|in a [vm/virtual]|virtual machine|on a [vm/virtual]",
    ),
    whole(
        THIRD,
        "only from ... own [server/domain/host]|[everything/all] ... from ... own [server/domain/host]|only to ... own [server/domain]|self-hosted only|all [assets/files/scripts/fonts] ... [ourselves/self-hosted/bundled]",
        "google [fonts/analytics/maps/tag/recaptcha/translate/ads]|[googleapis/fonts.googleapis.com/fonts.gstatic.com/cdn/cdnjs/jsdelivr/unpkg/recaptcha/hcaptcha/youtube/vimeo/facebook/hotjar/gravatar/mapbox/typekit/disqus/doubleclick/mixpanel/intercom/tiktok/instagram/twitter/plausible/segment/sentry]|adobe fonts|cdnjs.cloudflare.com|cdn.jsdelivr.net|facebook pixel|meta pixel|openstreetmap tile|tile.openstreetmap.org|embedded [video/map/tweet]|from ... cdn|matomo cloud|google-analytics.com|[advertising/ad] network|ad server",
    ),
    whole(
        PERMISSIONS,
        "[asks/ask/requests/request/needs/need] ... no permission|without ... permission",
        "[gps/geolocation/microphone/bluetooth/accelerometer]|address book|[position/location] of the [phone/device/user]|[phone's/device's/user's/current] [position/location]|[takes/take/scan/scans] ... camera|[phone's/device's/the] camera|contacts of the|[reads/read] ... contacts|photo library|phone's contacts|contact list|[reads/sends] sms|push notifications|[phone/device] calendar|step counter",
    ),
    whole(
        RUNTIME,
        "statically linked|static [binary/executable]|statically-linked|self-contained [binary/executable/file/program]|single [binary/executable/exe]|one [binary/executable]|needs nothing else|nothing else ... installed|nothing ... [installed/to install]|no further software|without ... being installed|no prior installation|nothing but the [binary/executable]|without installing anything|runs ... [without/no] ... installed|portable executable|runs from a [usb/stick]",
        "[java/jre/jvm/.net/python/node/node.js/php/ruby/perl/mono/erlang/r] ... [installed/runtime/required]|[java/jre/jvm/jdk] # runtime|[needs/requires/on] the [java/.net/jvm/jre/python/node]|[jre/jvm] ... [needed/required/present]|[python/ruby/perl/node] interpreter|[pip/npm/apt/apt-get/brew/gem/yum/dnf/choco/winget] install|must be installed ... [first/before/beforehand/on]|[has/have] to be installed|dynamically linked|shared [library/libraries/object]|[loads/links] ... dll|visual c++ redistributable|redistributable|[installed/present] on the [machine/computer/target/host/pc]|java -jar|jar file",
    ),
    whole(
        RIGHTS,
        "unprivileged|[as/by/under/with/from] [a/an/] [normal/ordinary/standard/plain/unprivileged/regular/restricted] [user/account/login]|ordinary user account|user 10001|rootless|non-root|[normal/ordinary/standard] user rights|nologin|least privilege",
        "as root|[sudo/setuid/modprobe/insmod/hkey_local_machine/hklm/iptables/nftables/setcap/cap_net_admin/cap_sys_admin/privileged]|kernel [driver/module/extension]|device driver|windows service|program files|as administrator|as admin|as system|local system|[uac/elevation] prompt|with [root/administrator/admin] [rights/privileges]|raw socket|root [rights/privileges/shell]|[writes/write/installs/copies] ... system32|installs a [driver/service/daemon]|machine-wide|for all users|[needs/requires/require] [root/administrator/admin]|[administrator/admin] [password/rights/privileges] ... [asked/needed/required]|runas|system-wide|group policy",
    ),
    whole(
        MACROS,
        "macro-free|as xlsx",
        "[vba/xlsm/dotm/docm/macro]|office script|visual basic|recorded macro|autoexec",
    ),
    whole(
        PROPRIETARY,
        "[open-source/foss/floss] [only/software/tools/components]|open source only|free and open source|[must/all] ... open-source|only ... [open-source/foss]|only ... open source|[only/nothing/but] ... free software|free software only|exclusively ... [open-source/open]|no licence [fees/costs]|without licence [fees/costs]",
        "[oracle/matlab/photoshop/sap/tableau/spss/stata/salesforce/autocad/splunk/datadog/jira/confluence/acrobat/indesign/db2/sharepoint/mathematica/labview/solidworks/arcgis/sas/dynatrace/newrelic/zendesk/hubspot/mailchimp/sybase/teradata/vmware/filemaker/qlik/powerbi/illustrator/visio]|sql server|power bi|microsoft [365/office/excel/word/access/teams/exchange/project]|ms office|office 365|adobe [acrobat/indesign/illustrator/photoshop/creative]|crystal reports|new relic|windows server|google workspace|commercial [product/library/component/licence/package/database]|proprietary|paid licence",
    ),
    whole(
        WINDOW,
        "headless|command line only|command-line only|[terminal/console] only|only ... [command line/command-line/terminal/console]|text mode|ssh only|only over ssh",
        "[qt/gtk/electron/tkinter/wpf/winforms/javafx/swing/wxwidgets/pyqt/pyside/flutter]|[a/the/in/main] window|dialog [box/window/opens]|a dialog|with the mouse|[clicks/click] ... [button/icon/window]|drag and drop|wizard|tray icon|pop-up|popup|touch screen|touchscreen|progress bar in a",
    ),
    whole(
        THREADS,
        "single-threaded|single threaded|one thread|[a/] single thread",
        "[pthread/pthreads/goroutine/goroutines/rayon/openmp/threadpool/multithreaded/multi-threaded]|thread pool|[worker/background/separate/own/second] thread|worker threads|threads [run/work/read/share/process]|# threads|[two/three/four/several/many/eight] threads|thread per|in a thread of",
    ),
    whole(
        RECURSION,
        "iteratively only|only iterative",
        "[recursively/recursive]|[calls/call] itself|by recursion",
    ),
    whole(
        CONFIG,
        "[settings/configuration/options/parameters] ... environment variables|[configured/set] ... environment variables only|only ... environment variables|only [through/via/by] ... environment|everything ... command line",
        "[config/configuration/settings] file|[config.json/config.yaml/config.yml/config.toml/settings.ini/settings.json/config.ini/app.config/.env/appsettings.json/application.yml/application.properties]|[ini/toml/yaml/properties/conf] file|[from/in] [etc/.]|etc",
    ),
    whole(
        UNSAFE,
        "safe rust|forbid(unsafe_code)",
        "unsafe [block/blocks/code/fn/function/rust]|[transmute/raw_pointer]|raw [pointer/pointers]|in unsafe",
    ),
    whole(
        GLOBALS,
        "no shared state",
        "global [variable/variables/object/state/map/list/table]|[singleton/singletons]|static mut|in a global",
    ),
    whole(
        SMARTPHONE,
        "any phone|ordinary phone|[landline/keypad] phone|without ... smartphone|<not> ... smartphone|any browser|without ... app",
        "only ... app|[ios/iphone/android] ... app|app store|play store|google play|smartphone ... [needed/required]|[scan/scans] ... qr|[install/download/open] ... app|in the app only|through the app|by app|with the app",
    ),
    whole(
        WINDOWS,
        "no windows",
        "windows [service/program/application/server/machine/registry/installer/client/dll/driver/pc/task/domain/form/desktop/event/tool]|[msi/hkey_local_machine/hkcu/powershell/direct2d/directx/direct3d/activex/winforms/wpf/win32/iis/vbscript/regedit/clickonce/excel.exe/.bat/wmi/ntfs/com+]|[exe/dll/bat] file|.exe|microsoft access|batch file|on windows|runs under windows|active directory domain|com object|for windows|windows #|windows only|visual studio",
    ),
    whole(
        LINUX,
        "no linux",
        "[systemd/apt/apt-get/dpkg/rpm/yum/dnf/crontab/udev/journald/snap/flatpak/appimage/debian/ubuntu/fedora/centos/rhel/alpine/suse/raspbian/inotify/epoll/selinux/apparmor/pacman/gentoo/opensuse]|[deb/rpm] package|bash script|linux [server/kernel/machine/host/service/distribution/daemon/box/only]|on linux|under linux|red hat|ext4",
    ),
    whole(
        APPLE,
        "no apple",
        "[dmg/homebrew/xcode/swiftui/appkit/cocoa/launchd/testflight/icloud/airdrop/applescript/keychain/ipad/iphone/macos/airplay]|mac [app/mini/book/studio]|mac os|os x|app store|on macs|metal api|core data",
    ),
    whole(
        PHP,
        "without php",
        "[laravel/symfony/wordpress/drupal/joomla/typo3/composer/magento/woocommerce/wp-cli/artisan/phpmyadmin/moodle/nextcloud/shopware/codeigniter/yii/twig]",
    ),
    whole(
        JAVA,
        "without java",
        "[spring/tomcat/hibernate/maven/gradle/jetty/wildfly/jboss/kafka/elasticsearch/jenkins/solr/quarkus/micronaut/glassfish/weblogic/jar/kotlin/scala/clojure/javafx/jdk/openjdk]|spring boot",
    ),
    whole(
        BROWSER_STORE,
        "nothing ... in the browser|<not> ... <save> ... in the browser|<not> ... <save> ... browser|browser ... <save> nothing|<not> ... [visitor's/user's/reader's] [device/browser/computer]",
        "[localstorage/sessionstorage/indexeddb]|local storage|session storage|web storage|[<save>/remembered] ... in ... browser|in a cookie|session cookie|service worker|browser cache",
    ),
    whole(
        RADIO,
        "radio ... <be> [off/disabled/silent]|radio [stays/is/remains] ... off|radio silence|wired only|cable only|only ... [cable/wired]|radio-silent",
        "by radio|over radio|via radio|[lora/lorawan/zigbee/bluetooth/wi-fi/wifi/wlan/gsm/lte/433/868/nrf24/z-wave/nfc/rfid/ble/xbee]|wirelessly|over the air|[sends/transmits/transmit] ... radio|radio [link/module/telegram/transmitter]|on 868|on 433",
    ),
    whole(
        QUEUES,
        "without ... broker",
        "[rabbitmq/kafka/activemq/nats/mosquitto/zeromq/sqs/pubsub/celery/pulsar/redis]|message [broker/queue/bus]|service bus",
    ),
    whole(
        SHELL,
        "no [subprocess/subprocesses]|<not> ... [start/call/spawn/launch/run] ... [other/another/external] [program/programs/process]",
        "[calls/runs/starts/invokes/spawns/executes/pipes/shells] ... [ffmpeg/imagemagick/git/curl/grep/sed/awk/rsync/tar/convert/ssh/openssl/gzip/pdftotext/ghostscript/pandoc/wget/gpg/bash/sh/perl/jq]|[subprocess/popen/os.system/child_process/execve]|shell [script/command]|external [program/command/tool]|through a shell|shells out",
    ),
    whole(
        AI,
        "rule-based only|only ... [rules/rule-based]|purely rule-based",
        "[gpt/gpt-4/chatgpt/openai/claude/mistral/llama/gemini/copilot/bert/ollama/whisper/gpt-4o/huggingface/pytorch/tensorflow]|language model|neural [network/net]|trained model|machine-learning|[deep/machine] learning|classifier",
    ),
    whole(
        EVAL,
        "<not> ... eval",
        "[eval/reflection/exec]|new function|bytecode|generates ... code at",
    ),
    whole(
        SQL,
        "key-value only",
        "[postgresql/postgres/mysql/mariadb/sqlite/oracle/db2]|sql [query/server/statement/database]|stored [procedure/procedures]|database trigger|select statement|[a/by/in/the] trigger|pl/sql",
    ),
    whole(
        ORM,
        "plain sql|raw sql|hand-written sql|sql by hand",
        "[hibernate/sqlalchemy/doctrine/sequelize/prisma/typeorm/eloquent/activerecord/jpa/peewee/diesel/gorm/ebean/dapper/mikroorm]|entity framework|active record|django orm|the orm|an orm",
    ),
    whole(
        FLASH,
        "without flash",
        "flash player|[swf/actionscript]|adobe flash",
    ),
    whole(
        PLUGINS,
        "[core/bare] [wordpress/moodle/jenkins] only",
        "[elementor/woocommerce/yoast/akismet/jetpack/wpml]|[the/a] [plugin/plug-in/extension/add-on]|browser extension|as a plugin",
    ),
    whole(
        TABLES,
        "layout ... css only",
        "layout table|[laid/arranged] out in a table|table layout",
    ),
    whole(
        ANIMATION,
        "[still/static] pictures only|nothing ... [moves/blinks/flashes/moving]|<not> ... [move/blink/flash] $",
        "[animated/animation/animations/blinking/blinks/flashes/flashing/parallax/carousel/marquee]|fades in|slides in|slide in|spins|gif that",
    ),
    whole(
        FONTS,
        "system fonts [only/]|only system fonts",
        "[woff2/woff]|google fonts|web [font/fonts]|webfont|font awesome|adobe fonts|typekit|fonts ... loaded",
    ),
    whole(
        MAINS,
        "[battery/solar] [only/operation]|only ... [battery/batteries/solar]|battery-powered only|on batteries",
        "[230/110/240] v|mains [adapter/power/supply/lead]|power [supply/socket/adapter/outlet]|plugged into|wall socket|from the mains|12 v adapter",
    ),
    whole(
        TRIALS,
        "stable releases only|only stable|only ... [stable/released]|released versions only",
        "[beta/alpha/nightly/snapshot/rc1/rc2/prerelease/pre-release]|release candidate|development version|from the main branch|nightly build|unreleased",
    ),
    // Licences of parts.
    joined(
        "licences of parts",
        "[mit/bsd/apache] ... only|only ... [mit/bsd/apache]|free of [gpl/copyleft]|closed source|closed-source|<not> ... [gpl/agpl/copyleft/lgpl]|[gpl/agpl/copyleft] ... <not> ... [allowed/permitted/used/linked/acceptable]|[mit/bsd/apache] ... [licence/license/licences/licenses] ... [allowed/permitted/accepted]|permissive ... only|only permissive|permissively licensed",
        "[gpl-licensed/agpl/gplv3/gplv2/gpl-3.0/gpl-2.0/lgpl/readline/x264/itext/ghostscript/mupdf/poppler/pyqt/busybox/gsl/copyleft/gpl]|gnu [readline/scientific/gsl/regex]|under the [gpl/agpl/lgpl]|mongodb server|gnu gpl",
    ),
    // Change and no change.
    whole(
        "whether the interface changes",
        "[api/apis/interface/interfaces/contract/endpoint/endpoints/signature/signatures/protocol/response/responses/url/urls/abi] ... [stay/stays/remain/remains/kept/keep/keeps/be/is/are/left] ... [unchanged/untouched/frozen/same/alone/identical/compatible/stable/fixed]|[api/interface/contract/endpoints/protocol] ... [stay/stays/remain/remains] ... as [it/they] [is/are]|<not> ... [change/changes/alter/altered/break/breaking/touch] ... [api/interface/contract/endpoint/endpoints/protocol/signature/signatures/clients]|[api/interface/contract/signature/signatures/protocol/endpoints] ... <not> ... [change/changed/altered/touched/modified/break]|backward [compatible/compatibility]|backwards [compatible/compatibility]|backward-compatible|backwards-compatible|binary [compatible/compatibility]|binary-compatible|source-compatible|existing clients ... [work/working/run/running]|[clients/callers/programs] ... without ... [change/changes/rebuilt/recompiled/recompiling/rebuilding/adaptation]|without [being/] [rebuilt/recompiled]|drop-in replacement|[keeps/keep/retain/retains/kept] [its/their/the/all] [signature/signatures/name/names/form/type/types/layout/meaning/contract]|[callers/clients/users/consumers] ... notice nothing|<not> ... have to [change/adapt/recompile/rebuild/touch]|<not> breaking change|<not> ... renamed|[fields/names/keys] ... keep their",
        "[field/fields/parameter/parameters/endpoint/route/method/property/key/attribute/function/path/header/argument/option/flag] ... <be> [renamed/removed/dropped/deleted/replaced/retyped]|[rename/renames/renaming/remove/removes/drop/drops/replace/replaces] ... [field/fields/parameter/endpoint/route/property/key/attribute/function/header/method/argument/option]|[returns/return/sends/answers] ... instead of|[gets/get/becomes/takes] ... [parameter/argument/member]|new [mandatory/required] [parameter/field/argument/header]|must ... [recompiled/rebuilt/adapted/migrate/adapt/relinked]|have to ... [recompile/rebuild/adapt/change/migrate]|moves to [v2/v3]|<be> called ... instead|changes its [type/name/signature/return]|[returns/return] ... rather than|[breaking/incompatible] change|new order|is now called|from now on|are now called|no longer [returns/accepts/exists/supported]",
    ),
    whole(
        "whether the structure changes",
        "[structure/schema/layout/model/database] ... <not> ... [change/changed/alter/altered/touch/touched/modify/modified/extended]|[structure/schema/layout/model] ... [stay/stays/remain/remains/left/leave] ... [unchanged/untouched/frozen/same/alone]|[structure/schema/layout/model] ... [stay/stays/remain/remains] ... as [it/they] [is/are]|[structure/schema/layout/model] <be> [frozen/fixed/untouchable]|<not> ... [schema/structural/structure] [change/changes/migration/migrations]|<not> ... [change/alter/touch/modify/extend] ... [schema/structure/layout]|<not> ddl|without ... ddl",
        "[add/adds/added/gets/get/gains/insert/create/creates/drop/drops/rename/renames/new/extra/additional/remove/removes/split/needs/receives] ... [column/columns/index/indexes/foreign/constraint]|[column/columns/index] ... <be> [added/dropped/renamed/removed/created/split/widened/moved]|alter table|create table|new table|[table/tables] ... <be> [split/renamed/merged/partitioned/dropped/added/created]|becomes ... [partitioned/nullable/jsonb/bigint/varchar]|range-partitioned|[migration/migrations] ... [adds/adding/creates/drops/renames]|[additional/second/another] table",
    ),
    whole(
        "whether the tables change",
        "[tables/table/columns/indexes] ... <not> ... [change/changed/alter/altered/touch/touched/modify/modified/extended]|[tables/table/columns/indexes] ... [stay/stays/remain/remains/left/leave] ... [unchanged/untouched/frozen/same/alone]|[tables/table/columns] ... [stay/stays/remain/remains] ... as [it/they] [is/are]|[tables/table/columns] <be> [frozen/fixed/untouchable]|<not> ... [change/alter/touch/modify] ... [tables/columns]",
        "[add/adds/added/gets/get/gains/insert/drop/drops/rename/renames/new/extra/additional/remove/removes/needs/receives] ... [column/columns/constraint]|[column/columns] ... <be> [added/dropped/renamed/removed/created/split/widened/moved]|alter table|[table/tables] ... <be> [split/renamed/merged/partitioned/dropped]|becomes ... [partitioned/nullable/jsonb/bigint/varchar]|range-partitioned",
    ),
    // Formats and encodings.
    whole(
        "byte order",
        "big-endian|big endian|network byte order|most significant [byte/octet] first|msb first|high byte first|high-order byte first|high byte ... before|motorola byte order",
        "little-endian|little endian|least significant [byte/octet] first|lsb first|low byte first|low-order byte first|low byte ... before|intel byte order|x86 byte order",
    ),
    whole(
        "which characters are allowed",
        "only ... ascii|ascii only|ascii [characters/letters] only|plain ascii|pure ascii|7-bit|seven-bit|us-ascii|<not> ... [umlaut/umlauts/accents/diacritics/emoji/emojis/non-ascii]|<not> ... special characters|without [umlauts/accents/diacritics]|only ... a-z|only ... [latin/unaccented] letters|only ... letters a|in ascii|<be> ascii",
        "[umlauts/umlaut/accents/diacritics/accented] ... [kept/preserved/stay/stays/remain/allowed/written/shown/possible/unchanged/appear/accepted/printed/retained]|[emoji/emojis/cyrillic]|[polish/german/french/greek/chinese/turkish/czech/japanese/arabic/russian/scandinavian] [letters/characters]|full unicode|any unicode|unicode [characters/letters/symbols/text]|[in/as] utf-8|utf-8 [text/with/characters]|with [their/all/] [umlauts/accents]|keep ... [umlauts/accents]",
    ),
    whole(
        "the separator",
        "[separated/delimited/divided/separator/delimiter] ... [semicolon/semicolons/tab/tabs/tabulator/pipe/pipes]|[semicolon/tab/pipe] ... [separator/delimiter]|[semicolon-separated/tab-separated/pipe-separated/tab-delimited/semicolon-delimited/tsv]",
        "[separated/delimited/divided/separator/delimiter] ... [comma/commas]|comma ... [separator/delimiter]|[comma-separated/comma-delimited]|commas between",
    ),
    whole(
        "header line",
        "first [line/row] ... [column/columns/names/headings/header/header/field]|header [line/row] ... [names/first]|with [a/] header [line/row]|begins with [a/the] header|[has/have/carries] [a/one] header|[column/field] names ... first [line/row]|[column/field] names ... [top/header]",
        "<not> header|without ... header|headerless|data ... begins in ... [line/row]|first [line/row] ... [already/is] ... data|<not> ... heading|starts ... with the data",
    ),
    // The same every time.
    whole(
        "whether it is repeatable",
        "[same/identical] ... bit for bit|bit for bit|byte for byte|byte-for-byte|bit-for-bit|bit-identical|byte-identical|[deterministic/deterministically/reproducible/reproducibly/repeatable]|same input ... same|same [source/file/seed/data/inputs] ... same|same in every run|same on every [run/call/machine]|same [result/results/output/order/numbers/groups] ... [every/each/all] [run/time/call/start/runs]|two runs ... [same/identical]|every run ... same|always yields ... same|always gives ... same|independent of the [day/date/time/clock/machine/order/moment]|same [source/input/file] gives",
        "seeded ... [clock/time]|seed ... [clock/time]|[time/date/clock] ... seed|time of ... build ... [written/stored/put/embedded/included]|build [time/date/timestamp] ... [in/into/written/embedded/included]|[random/randomly] ... [each/every] [start/run/call/time]|[drawn/chosen/picked/shuffled/selected/generated/mixed] ... [random/randomly/chance/lot]|shuffled ... [each/every/afresh/anew]|random [number/generator/order/seed/sample/choice]|fresh random|different ... [each/every] [run/time/call/start]|[current/actual] [time/date] ... [written/included/embedded/printed]|randomly [chosen/selected/drawn/picked/assigned/distributed]|by [chance/lot]|differ ... from run to run|varies ... run|a random|rolled ... dice|unseeded|current [date/time] ... [mixed/enters/added/part/used]|[date/time] of ... [build/run] ... [written/added/mixed/part]|host name ... [written/embedded/included]",
    ),
    // Transactions.
    whole(
        "all or nothing",
        "[single/one/same] transaction|all or nothing|all-or-nothing|everything or nothing|either all ... [none/nothing]|either everything|all ... or none|[atomic/atomically]|one or none|either ... completely|leave ... as it was|leaves ... as it was|completely or not|in full or not|or not at all|<not> ... halfway|rolled back ... [whole/completely/entirely/altogether]|as a whole or not|nothing ... [stored/imported/written/saved/kept] ... unless all|whole [import/file/batch] ... [undone/rejected/rolled]|<not> ... half-imported|never ... partially|<not> partial",
        "[commit/commits/committed] ... [each/every/after/own/individually/separately/single]|[each/every] ... <be> committed|[each/every] ... own transaction|transaction per|transaction for each|[earlier/finished/previous/good/valid/correct/processed/imported] [rows/ones/records/lines/entries] ... [stay/stays/remain/kept/imported/saved/stored]|autocommit|auto-commit|what ... [imported/written/saved] so far ... [stays/remains/kept]|[records/rows/lines/entries/ones/items/files/parts] before ... [stay/stays/remain/remains/kept]|[stay/stays/remain/remains/left] [imported/stored/saved/loaded/booked/inserted/committed]|rows ... so far ... [stay/remain/kept]|partially [imported/stored/loaded/written]|the rest ... [imported/loaded/stored/goes]|in batches of # ... committed|<not> rollback|continues with the next ... and keeps",
    ),
    // Secrets.
    whole(
        "secrets in the repository",
        "[repository/repo/git/code/source/codebase] ... <not> ... [password/passwords/key/keys/secret/secrets/credential/credentials/token/tokens]|<not> ... [password/passwords/key/keys/secret/secrets/credentials/credential/token/tokens] ... [repository/repo/git/code/source/codebase/image]|[password/passwords/key/keys/secret/secrets/credentials/tokens] ... <not> ... [repository/repo/git/code/source/codebase/committed/checked]|[passwords/keys/secrets/credentials] ... only ... [vault/environment]",
        "[password/key/secret/credentials/token/passwords/keys/tokens] ... [in/into/to/with] ... [repository/repo/git/code/source/codebase]|[repository/repo/git] ... [holds/contains/has/includes/carries] ... [password/key/secret/token/credentials]|[password/key/token/secret] ... <be> [committed/checked/hard-coded/hardcoded]|hard-coded [password/key/token]|[password/key/token/secret] ... [constant/dockerfile/values.yaml]|commit ... [key/password/token/secret]",
    ),
    whole(
        "how passwords are kept",
        "[password/passwords/pin/pins] ... [hash/hashes/hashed/bcrypt/argon2/argon2id/scrypt/pbkdf2]|[hash/hashes/bcrypt/argon2/argon2id/scrypt] ... [password/passwords]|[password/passwords] ... <not> ... [readable/plain/recovered/decrypted/clear/known/seen]|nobody ... [read/see/know/recover] ... [password/passwords]|[password/passwords] ... one-way",
        "[current/old/forgotten/existing/present/own/their/his/her/lost/used] [password/passwords] ... [mail/mailed/sent/shown/readable/displayed/plain/clear/phone/told/printed]|[mailed/mails/mail/sends/send/sent/shows/show/shown/tells/told/sees/see/reads/read/displays/print/prints/look/looks/knows/know/decrypt/decrypts/recover/recovers] ... [current/old/forgotten/existing/present/their/his/her/stored/lost/original/plain/member's/user's/customer's/pupil's/employee's/client's/patient's] [password/passwords]|[password/passwords] ... [readable/plain/clear/decrypted/reversibly/recoverable/plaintext/cleartext]|mailed the password|[reads/tells/read/look/looks] ... the password|password he has|password they have|[password/passwords] ... [mailed/shown] to",
    ),
    joined(
        "protection of stored data",
        "[file/files/disk/data/database/diary/backup/backups/entries/records/everything/store] <be> encrypted|[encrypted/encrypts] ... [rest/disk]|<save> ... encrypted|encrypted before ... <save>",
        "<save> as plain text|<save> in plain text|<save> ... plain text|<save> ... unencrypted|<save> ... in the clear|<save> ... readable|any editor can open|[plain/unencrypted] [text/copy/file] ... <save>|open ... with any editor|readable ... any [editor/text]",
    ),
    whole(
        "whether the server can read it",
        "[end-to-end/e2e] ... [encrypted/encryption]|end-to-end|server ... <not> ... [read/see/decrypt/know]|[read/decrypted/decrypt] ... only ... [recipient/recipients/sender/device/devices/phones]|zero-knowledge|only ... [recipient/recipients] ... [read/decrypt]",
        "server ... [searches/scans/reads/analyses/filters/indexes/checks/translates/decrypts/previews/looks] ... [text/message/messages/content/contents/words/them/photos/pictures/attachments]|[moderators/admins/administrators/support/operators] ... [read/see/open/search] ... [message/messages/chats/content]|[searched/scanned/analysed/filtered/indexed/translated/moderated] ... [server/moderators]|full-text search ... server|master key",
    ),
    whole(
        "checking of certificates",
        "certificate ... <be> [verified/checked/validated]|[verifies/checks/validates/verify/check] ... certificate|certificate pinning|invalid certificate ... [refused/rejected/abort/aborts]|only ... valid certificate|tls ... verified",
        "rejectunauthorized|certificate [errors/warnings/check/checks/verification/validation] ... [ignored/off/disabled/skipped/accepted]|[verification/validation] ... [off/disabled/skipped/false]|[insecure/--insecure/verify=false/insecureskipverify]|<not> ... [check/verify/validate] ... certificate|certificate ... <not> ... [checked/verified/validated]|any certificate|self-signed ... [accepted/trusted/allowed]|expired certificate ... accepted|trust all|verify ... false|[ignores/ignore/ignoring/skips] ... certificate",
    ),
    // Memory and persistence.
    whole(
        "how much is held in memory",
        "<not> ... [memory/ram] ... [whole/once/entirely/completely/entire]|<not> ... [whole/entire/complete/full] ... [memory/ram]|as a stream|[streamed/streaming/streamwise]|line by line|chunk by chunk|piece by piece|[constant/bounded] memory|row by row|<not> loaded [completely/entirely]|block by block",
        "[whole/complete/entire/full] [file/input/document/table/dataset/image/archive/list/dump] ... [read/loaded/held/kept/parsed/slurped] ... [memory/ram/slice/array/string/list/once/dataframe]|[read/reads/load/loads/loaded/hold/holds/parse/parses/slurp/slurps] ... [whole/complete/entire/full] [file/input/document/table/dataset/archive/dump]|[whole/complete/entire/full] ... in [memory/ram]|all [rows/lines/records/entries] ... [in/into] [memory/ram/array/list]|[file/input] ... [read/loaded] ... at once|readfilesync|readlines|[reads/loads] everything into|as one string|into a byte slice|into one [array/list/string]",
    ),
    whole(
        "a single point of failure",
        "<not> ... single point of failure|<not> single point|[redundant/redundantly] .|<be> [redundant/redundantly]|[survives/survive] ... [failure/loss/outage] of [any/one/a]|any [node/server/machine/component/host/disk] ... [fail/die/lost]|highly available|high availability|[two/three/several/least] [instances/servers/nodes/machines/replicas/hosts] ... [fail/fails/die/failure/redundant/other]|at least [two/three] [instances/servers/nodes/machines/replicas]|[either/any/one/each] of them ... [fail/die]|either ... fail|one of them ... [fail/fails]|[runs/run] on [two/three/several] [servers/machines/nodes/hosts]|[takes/take] over when|hot standby|failover|<not> ... depend on a single|failure of [any/one/a single] ... [server/node/machine/component] ... [without/not/no]|every component ... twice",
        "one ... process on one|[single/one] [server/instance/node/machine/host/vm/database/process/raspberry/disk/computer/pc/broker] ... [runs/holds/serves/carries/does/hosts/handles]|[runs/run/lives/hosted/installed] ... on [a single/one/a] [single/] [server/instance/node/machine/host/vm/pc/computer/virtual/raspberry]|one virtual machine|exactly one instance|<not> ... [replica/standby/failover/second]|a single [redis/postgresql/mysql/server/node/instance/machine/vm/process/database/broker]|[only/exactly/just] one [server/instance/node/machine/process/host/copy/database/computer]|[there/is] one server|the only [server/instance/node/machine/host/copy]|<be> the only [server/instance/node]|without ... [replica/standby/failover]",
    ),
    whole(
        "fixed versions of parts",
        "[dependency/dependencies/package/packages/version/versions/libraries/library/image/images] ... [pinned/fixed/locked/frozen]|[pinned/fixed/locked] ... [version/versions/digest]|exact version|lock file|lockfile|cargo.lock|package-lock.json|with a digest",
        "[latest/newest] [release/version/versions/releases/image/tag]|whatever ... [latest/newest]|[always/latest] ... newest|latest tag|[unpinned/floating]|version range|[caret/tilde] range|at build time ... newest|most recent [release/version]",
    ),
    topic(
        "soft or hard deletion",
        "[sets/set] deleted_at|deleted_at|[only/merely] marked ... deleted|marked as deleted|soft [delete/deletion/deleted]|leaves the row|[row/rows/record/records/entry] ... [stay/stays/remain/remains] ... [place/table/database]|flagged as deleted|<not> ... physically|only hidden",
        "physically [delete/deletes/deleted/removed/removes]|hard [delete/deletion]|[delete/deletes/deleted/removed/removes] ... [row/record/rows/records] ... [from/completely]|really deleted|deleted ... for good|[row/rows/record] ... <be> [deleted/removed/erased]|delete from",
    ),
    topic(
        "own or common",
        "[each/every] ... of [its/their/his/her] own|[each/every] ... [own/separate/dedicated] [database/table/key/file/sheet/repository/server/schema/account/page/password/folder/queue/certificate/index/process/cache/session/budget/calendar/inbox/basket/log]|one [database/table/key/file/sheet/repository/server/schema/account/page/folder/queue/pdf/list/document/branch] ... per|[separate/dedicated/own] [database/table/key/file/sheet/repository/server/schema/account/folder/page] ... for each|[separate/dedicated/own] [database/table/key/file/sheet/repository/server/schema/account/folder/page] per|<not> ... [share/shared] ... [database/table/key/server]|<not> [table/database/key/account/server] ... shared|[becomes/become/gets/get/has/have] ... of its own|never share",
        "[all/both] ... share [one/a/the/the same]|one and the same|[shared/common] ... [all/every]|shared by all|all ... in one [table/database/file/repository/sheet/schema/account/folder/document/list/index]|in one [table/database/file/repository/sheet/schema/folder/document] ... with|one single [file/pdf/table/document/sheet/database/list/key/repository]|single [file/pdf/sheet/table/document/database/repository/key]|all ... live in one|[one/single/same] [key/database/table/password/account/certificate/server/queue/repository] ... [all/every]|[same/common] [key/database/table/password/account/certificate/server/queue/repository] ... [all/both/every]|told apart by|a single ... for all|one ... for all|a joint|all ... use one",
    ),
    joined(
        "interruption",
        "[without/no] ... [break/interruption/interruptions/pause/downtime/gap/outage]|[throughout/during] ... without|around the clock|[24/7]|uninterrupted|uninterruptedly|<not> ... [interrupted/down/unavailable]|zero downtime|zero-downtime|at any hour|day and night|never [stops/stop/sleeps]",
        "<be> stopped from|<be> [off/down/closed/stopped/unavailable/unreachable/offline] ... [for/from/between/during/while]|[maintenance/service] [window/break/page]|<be> [taken/shut/switched] [down/off] ... [for/from/during/while]|[goes/go] [offline/down] ... [for/from/during/while]|[stopped/paused/halted/suspended/interrupted] ... [for/from/during/while/between]|[outage/downtime] of #|restarted every|<be> [stopped/paused/halted/suspended]",
    ),
    topic(
        "random or running numbers",
        "random [uuid/uuids/id/ids/number/numbers/string/token]|[uuid/uuids/uuidv4/guid/guids]|<not> ... [guess/guessed/guessable/order]|unguessable",
        "[count/counts/counting] up|[consecutive/consecutively/sequential/sequentially/ascending]|running number|[serial/auto-increment/autoincrement]|without gaps|gapless|starting [at/from/with] #|incremented by|one after the other|next free number|plus one",
    ),
    topic(
        "unknown fields",
        "[unknown/extra/additional/unexpected/surplus/further/undocumented] [field/fields/key/keys/column/columns/property/properties/attribute/attributes/option/options] ... [refused/rejected/error/400/422/invalid/fail/fails/abort]|field ... <not> in the schema ... [refused/rejected/error]|strict [validation/parsing/mode]|[refuses/rejects] ... [unknown/extra/additional/unexpected] [field/fields/key/keys/column/columns]|additionalproperties",
        "[unknown/extra/additional/unexpected/surplus/further/undocumented] [field/fields/key/keys/column/columns/property/properties/attribute/attributes/option/options] ... [ignored/accepted/skipped/dropped/kept/passed/allowed/tolerated/stored]|[ignores/accepts/tolerates/skips/keeps] ... [unknown/extra/additional/unexpected/surplus] [field/fields/key/keys/column/columns]|lenient|be liberal",
    ),
    joined(
        "uniqueness",
        "unique [index/constraint/key/value/number]|[is/are/be/must/stays] ... unique|<not> two ... [same/share]|<not> ... twice|<not> duplicate|only once|used once|<not> ... [same/identical] [value/number/code/reference/name]",
        "[several/many/two/multiple/different] ... [may/can/might/carry/have/share/use] ... same|[duplicate/duplicates] ... [allowed/accepted/possible/permitted/kept/occur]|[may/can] ... [repeat/recur/share]|same ... [several/more than one/two/many]|<not> ... unique|more than one ... same",
    ),
    topic(
        "the same or different for each",
        "[all/every/everyone/everybody/each] ... [same/identical] [start/page/list/exercises/questions/text/view/screen/price/version/task/tasks/settings/content/order/test/menu/layout/form]|same [page/list/exercises/questions/text/view/screen/price/version/tasks/settings/content/test/menu/layout/form] ... [all/every/everyone/everybody]|[same/identical] for [all/every/everyone/everybody/each]|[same/identical] on all|uniform|one version for all",
        "[composed/chosen/picked/tailored/adapted/personalised/personalized/selected/made/individual/generated/adjusted/different/put] ... for each|[tailored/adapted/personalised/personalized/adjusted/matched] ... to|[picked/chosen/selected/composed/sorted] by the|[depends/depend/depending] on [the/his/her/their/its]|individual [page/list/exercises/questions/selection/price]|[personalised/personalized/individualised]|differ ... from ... to|[each/every] ... [different/own] [page/list/exercises/questions/price/view/version]|stay ... on the device",
    ),
    topic(
        "what is shown in full",
        "<not> ... see|<not> ... shown|<not> ... not even|<not> ... displayed",
        "[shows/show/displays/lists/contains/sees] ... last [four/three/two/#]|[shows/show/displays] ... [part/digits/masked]",
    ),
    whole(
        "exceptions",
        "<not> function ... [throw/throws/raise/raises]|never [throw/throws] $|[without/no] c++ exceptions|exceptions ... [disabled/off]|[fno-exceptions/noexcept]|errors ... as [return/result] values|never throws",
        "[throws/throw] [a/an/std/invalid/illegal]|[throws/throw] ... [exception/error]|[raises/raise] ... [exception/error/valueerror/typeerror]|exception ... <be> [thrown/raised]|throws $|try block",
    ),
    topic(
        "whether the run goes on",
        "[stops/stop/breaks/break/fails/fail/aborts/abort/blocks/block/halts/ends/cancels] the [build/run/import/deployment/release/job/pipeline/export/transfer/batch]|[build/run/import/deployment/release/job/pipeline/export/batch] ... [fails/fail/stops/aborts/breaks/halts/cancelled]",
        "[build/run/import/deployment/release/job/pipeline/export/batch] ... [goes/go] [on/through/ahead]|[build/run/import/deployment/release/job/pipeline/export/batch] ... [continues/continue/passes/pass/succeeds/proceeds/completes]|<not> ... [stop/break/fail/block/abort] ... [build/run/import/deployment/release/job/pipeline]",
    ),
    topic(
        "whether it goes anywhere else",
        "nowhere else|<not> elsewhere|to no other|and to nobody else|<not> other place",
        "<be> [mailed/uploaded/published/copied/sent/posted/faxed/forwarded/printed/pushed] ... to|[mailed/uploaded/published/copied/sent/posted/forwarded/pushed] to",
    ),
    whole(
        OS,
        "bare metal|bare-metal",
        "[freertos/zephyr/rtos/vxworks/qnx/threadx/linux/windows/android/mbed/embos/chibios]",
    ),
    whole(
        SERVERS,
        "<not> .. [database/db] server",
        "[postgresql/postgres/mysql/mariadb/oracle/mssql/mongodb/cassandra/db2/cockroachdb/couchdb]|sql server",
    ),
    joined(
        "personal data",
        "<not> .. personal [data/information/details]",
        "[contains/contain/carries/carry/stores/shows/lists/holds/includes/has/records/with] ... [name/names/surname/birthday/birth/phone]|[name/names/surname] and [address/birthday/mail/phone/mobile/birth/e-mail]",
    ),
    whole(
        "encryption of what is sent",
        "[all/every/each/any] [connection/connections/traffic/communication/transfer/transfers/transmission/requests/data] ... [encrypted/tls/https]|[https/tls] only|only [https/tls]|only over [https/tls]",
        "plain http|unencrypted ... http|[sent/transferred/transmitted/uploaded] ... unencrypted|[sent/transferred/transmitted/uploaded/sends] over http|without [tls/encryption]|[telnet/ftp]",
    ),
    near(
        "what becomes of a fault",
        "<be> [ignored/skipped/dropped/disregarded]|passed over|<be> left out",
        "[stops/stop/aborts/abort/ends/breaks/cancels/cancel/halts/halt] the|<be> an error|[raises/raise/throws/cause/causes/give/gives] an error|[fails/fail] the",
    ),
    near(
        "capitals or small letters",
        "upper case|uppercase|upper-case|capital letters|in capitals",
        "lower case|lowercase|lower-case|small letters",
    ),
    near(
        "lit or dark",
        "<be> on [at/when/while/during/in/if]|<be> on $|[stays/stay/remains] on",
        "<be> off [at/when/while/during/in/if]|<be> off $|[stays/stay/remains] off",
    ),
    near(
        "a limit of time",
        "no time limit|without .. time limit|no deadline|unlimited time|as much time as",
        "within # [seconds/minutes/hours/days]|time limit of|at most # [seconds/minutes/hours/days]|after # [seconds/minutes/hours] .. [ends/closes]",
    ),
    near(
        "whether it stays",
        "[stays/stay/remains/remain] [available/reachable/supported/online/usable/active]",
        "<be> [removed/discontinued/dropped/withdrawn]|<be> [switched/shut/turned] [off/down]|<be> taken [out/down/offline]",
    ),
    whole(
        "compressed or not",
        "[uncompressed/uncompressedly]|<not> ... [compressed/compression/zipped/gzipped]|without compression|as plain files",
        "[gzip/gzipped/zstd/zst/.zst/.gz/lz4/bzip2/brotli/xz/tar.gz/compressed/zipped/zip/7z]|compresses|a zip",
    ),
    whole(
        "push or pull",
        "[opens/open/makes/make/initiates/initiate] no connection|<not> ... open ... connection|never ... initiate|only ... <be> polled|[polled/pulled/fetched/collected] by",
        "[pushes/push/posts/sends/send/reports/streams] ... to the [server/collector/elastic/hub/backend/central/endpoint]|[sends/pushes/posts/streams] ... to [elastic/splunk/datadog/kafka/influxdb/prometheus/loki/graylog]",
    ),
];
