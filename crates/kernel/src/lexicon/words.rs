//! Classes of words. A plural in -s is found through its singular, a trailing version number is ignored.

use super::class::*;

/// (classes, words).
pub(super) const WORDS: &[(u64, &str)] = &[
    (STOP, "a an the this that these those it its they them their he she his her we us our ours i my mine me you your yours who whom whose which what
        is are was were be been being am has have had having do does did done doing of in on at by to from for with into onto over under up out off as and or but so
        than then too also just very more most much many some such own same other another there here both each per via upon about between among through
        during within without against across along around behind beside besides beyond toward towards until till since because how why where when while if
        get gets got let lets please goes go come comes one's itself themselves himself herself yet still even again already now soon ever
        instead otherwise however therefore thus hence etc e.g i.e older newer longer shorter later earlier larger smaller higher lower fewer less least maximum minimum exactly approximately"),
    (STOP | MODAL, "must shall should will would can could may might need needs ought"),
    (STOP | NEG, "not no never none neither nor cannot can't don't doesn't isn't aren't won't mustn't shouldn't couldn't wouldn't nothing nobody nowhere without n't
        cant dont doesnt isnt arent wont"),
    (NEG, "forbidden prohibited banned disallowed forbid forbids prohibit prohibits avoid avoids"),
    (STOP | UNIVERSAL, "all every each always only exclusively any anything everything everyone everybody anyone anybody entire whole solely strictly"),
    (CONDITION, "if when whenever unless except until while once where wherever whose during besides otherwise provided assuming beyond apart excluding"),
    (STOP | NUMERAL, "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million half quarter dozen twice"),
    (GENERIC, "thing way case part kind sort type item use work make take give set put want need like able new old first last next current existing time day
        number list value name page file user data system service application app tool result output input change"),
    (TIME_UNIT, "ms millisecond milliseconds s sec second seconds min minute minutes h hr hour hours day days d week weeks month months year years ns us µs
        microsecond microseconds nanosecond fortnight quarter quarters night nights"),
    (SIZE_UNIT, "b byte bytes kb mb gb tb pb kib mib gib tib kilobyte megabyte gigabyte terabyte kilobytes megabytes gigabytes terabytes"),
    (OTHER_UNIT, "percent % px pixel pixels mm cm m km metre metres meter meters kg g t tonne tonnes ton litre litres l kw kwh mw w watt watts volt volts hz khz mhz ghz fps
        eur euro euros usd dollar dollars cent cents pound pounds gbp chf degree degrees °c k v a bar bpm rpm dpi mbit gbit kbit lux db"),
    (FREQUENCY, "hourly daily nightly weekly monthly quarterly yearly annually continuously"),
    (PERSON, "user users people person persons team teams staff crew customer customers client clients visitor visitors guest guests member members employee employees colleague
        colleagues patient patients student students pupil pupils teacher teachers parent parents child children kid kids doctor doctors nurse nurses vet vets lawyer lawyers
        engineer engineers developer developers admin admins administrator administrators operator operators manager managers analyst analysts researcher researchers scientist scientists
        physicist physicists biologist clerk clerks accountant accountants auditor auditors editor editors author authors reader readers writer writers journalist journalists
        seller sellers buyer buyers vendor vendors supplier suppliers dealer dealers trader traders merchant merchants shopper shoppers driver drivers rider riders passenger passengers
        pilot pilots captain captains sailor fisherman fishermen farmer farmers gardener gardeners agronomist agronomists forester foresters ranger rangers brewer brewers baker bakers cook cooks chef chefs
        waiter waiters hostess librarian librarians archivist archivists curator curators musician musicians singer singers player players coach coaches trainer trainers referee referees
        volunteer volunteers helper helpers citizen citizens resident residents tenant tenants landlord landlords neighbour neighbours neighbor neighbors councillor councillors mayor mayors officer officers
        secretary secretaries assistant assistants bookkeeper bookkeepers cashier cashiers packer packers picker pickers worker workers mechanic mechanics technician technicians electrician electricians
        planner planners dispatcher dispatchers designer designers architect architects tester testers reviewer reviewers maintainer maintainers contributor contributors owner owners stakeholder stakeholders
        participant participants attendee attendees speaker speakers organiser organisers organizer organizers donor donors investor investors shareholder shareholders subscriber subscribers viewer viewers
        listener listeners audience newcomer newcomers beginner beginners expert experts professional professionals applicant applicants candidate candidates recruiter recruiters
        pharmacist pharmacists dentist dentists surgeon surgeons midwife therapist therapists paramedic paramedics rescuer rescuers firefighter firefighters policeman police
        inspector inspectors examiner examiners moderator moderators translator translators interpreter interpreters climber climbers skier skiers swimmer hiker hikers cyclist cyclists runner runners
        borrower borrowers patron patrons collector collectors seismologist seismologists ornithologist ornithologists geologist meteorologist botanist botanists hydrologist astronomer astronomers chemist chemists
        public everyone everybody anyone anybody nobody somebody human humans man men woman women guardian guardians caretaker caretakers janitor janitors wrangler wranglers producer producers
        director directors leader leaders chief boss supervisor supervisors foreman foremen superintendent warden wardens
        sre sres devops qa department departments office sales marketing finance accounting helpdesk desk management board committee council agency ministry authority authorities
        partner partners contractor contractors consultant consultants freelancer freelancers intern interns trainee trainees apprentice apprentices villager villagers commuter commuters tourist tourists
        traveller travellers traveler travelers family families postdocs postdoc professor professors scholar scholars merchandiser merchandisers instructor instructors agent agents pensioner pensioners clubs companies firms households institutions organisations organizations couple couples senior seniors youth adult adults girl boy friend friends follower followers spectator spectators
        dresser dressers porter porters steward stewards conductor conductors composer composers adviser advisers advisor advisors broker brokers banker bankers insurer insurers adjuster adjusters
        voter voters press commission parliament learner learners sexton operations alumni alumnus maker makers grower growers attendant attendants scout scouts host hosts delegate delegates graduate graduates inhabitant inhabitants commissioner commissioners
        fan fans hobbyist amateur amateurs shepherd shepherds herder nurseryman integrator melter monk nun priest pastor sexton choir orchestra ensemble brigade squad jury juror tutor tutors
        mentor mentors lecturer lecturers coordinator coordinators facilitator facilitators dean registrar treasurer chairman chairwoman chairperson president grandparent grandparents
        miller millers potter potters tailor tailors weaver weavers carpenter carpenters joiner joiners plumber plumbers welder welders painter painters butcher butchers grocer grocers florist florists
        underwriter underwriters claimant claimants operators' users' crews shift shifts personnel workforce"),
    (THING, "connector connectors selector selectors indicator indicators generator generators descriptor descriptors separator separators validator validators iterator iterators calculator calculators
        accelerator compressor compressors conveyor elevator elevators escalator corridor corridors behavior actuator actuators detector detectors simulator simulators locator locators accessor constructor resistor
        capacitor transistor projector projectors tractor tractors rotor simulator annotator-id emulator decorator decorators comparator ventilator radiator radiators refrigerator translator-id terminator denominator numerator
        number numbers order orders server servers folder folders header headers footer footers buffer buffers counter counters sensor sensors monitor monitors error errors vector vectors
        client player driver reader viewer speaker conductor planner runner collector dispatcher parameter parameters container containers cluster clusters printer printers scanner scanners router routers filter filters parser parsers loader logger handler handlers worker
        docker compiler linker browser browsers calendar newsletter letter letters paper papers layer layers meter meters metre metres water power tower towers corner corners border borders marker markers
        slider banner banners timer timers trigger triggers pointer pointers register registers character characters chapter chapters computer computers controller controllers processor processors
        adapter adapters converter converters wrapper wrappers helper master cursor cursors color colour colors colours factor factors author-id operator editor mirror mirrors motor motors reactor
        list lists exist exists consist consists persist persists assist assists checklist checklists allowlist blocklist denylist whitelist blacklist playlist playlists twist wrist gist mist waitlist
        after before under over other others another whether either neither never ever however per her their together rather further later earlier longer shorter larger smaller bigger higher lower greater
        newer older faster slower fewer better easier harder former latter inner outer upper proper super summer winter december november october september offer offers answer answers transfer transfers
        center centre centers year bar car far clear near linear regular similar modular tar var floor door doors indoor outdoor minor major prior for nor or error-code anchor color-mode semaphore
        plant plants grant grants constant constants variant variants tenant-id instant instants restaurant restaurants relevant important significant distant redundant quadrant
        median medians radian guardian-mode medium trailer trailers tracker trackers player-id dispenser boiler boilers heater heaters cooler coolers freezer freezers charger chargers
        lighter charter charters freighter cipher cyber fiber fibre tier tiers pier barrier barriers carrier carriers courier-id supplier-id identifier identifiers modifier modifiers
        qualifier classifier classifiers multiplier notifier verifier amplifier purifier crawler crawlers installer bundler scheduler schedulers sampler samplers debugger profiler
        receiver receivers transceiver transmitter transformer transformers thermometer barometer potentiometer odometer starter enter entering gather order-id supper dinner ladder finger butter silver copper
        rubber timber lumber chamber membership encounter encounters remainder reminder reminders cylinder calender gender tender tenders render renders blender slender shoulder
        holder holders placeholder placeholders stakeholder-id builder builders folder-name bidder adder decoder decoders encoder encoders reader-id loader-id spider wonder powder border-color
        weather leather feather mother father brother sister another-one either-or altogether manner planner-id spinner runner-id tuner scanner-id liner trainer-id container-id
        wafer refer prefer defer differ suffer infer offer-id integer integers trigger-id burger manager-id ledger ledgers passenger-id messenger hanger danger stronger larger
        poster posters cluster-id register-id roster rosters filter-id alter falter shelter shelters halter winter-time voucher vouchers catcher watcher watchers switcher dispatcher-id
        driver-version driver-id wheeler dealer-id trader-id header-row"),
    (TECH | LANGUAGE, "python rust go golang java kotlin scala c c++ c# f# typescript javascript ruby php perl swift objective-c dart elixir erlang haskell ocaml clojure lua julia r matlab fortran cobol
        ada pascal delphi groovy bash zsh fish powershell shell awk sed sql pl/sql plpgsql vba vb vb.net assembly zig nim crystal elm purescript reason solidity verilog vhdl lisp scheme racket prolog
        c11 c17 c99 c++17 c++20 c++11 c++14 c++23 es6 es2022 deno node node.js nodejs bun jvm jdk .net net dotnet asp.net cpython micropython circuitpython apl smalltalk tcl abap apex hcl qml wasm webassembly"),
    (TECH | LIBRARY, "react vue vue.js angular svelte sveltekit solidjs preact ember backbone jquery htmx alpine alpine.js next.js nextjs nuxt remix astro gatsby express express.js fastify koa nestjs nest hapi
        django flask fastapi pyramid starlette tornado celery sqlalchemy pydantic pandas numpy scipy polars scikit-learn sklearn pytorch torch tensorflow keras xgboost lightgbm spark pyspark dask airflow dagster prefect
        rails sinatra hanami sidekiq laravel symfony codeigniter slim yii cakephp spring quarkus micronaut ktor vert.x jakarta hibernate jpa mybatis jooq dropwizard play akka pekko gin echo fiber chi gorm cobra viper
        actix actix-web axum rocket warp tokio serde diesel sqlx clap phoenix liveview ecto lodash axios moment dayjs rxjs redux zustand pinia vuex tailwind tailwindcss bootstrap material-ui mui bulma chakra
        electron tauri flutter ionic cordova capacitor jetpack compose swiftui uikit qt qt5 qt6 gtk gtk4 wxwidgets pyside6 pyqt tkinter wpf winforms maui blazor xamarin unity unreal godot three.js d3 d3.js chart.js plotly
        matplotlib seaborn bokeh dash streamlit shiny ggplot2 leaflet openlayers mapbox boost eigen opencv ffmpeg imagemagick pillow requests httpx aiohttp beautifulsoup scrapy selenium playwright puppeteer
        entity-framework ef dapper polly mediatr automapper newtonsoft.json log4j slf4j guava jackson gson okhttp retrofit rxjava lombok trpc graphql apollo relay prisma drizzle typeorm sequelize mongoose knex
        zod joi ajv pdf-lib reportlab weasyprint openpyxl poi itext jinja jinja2 handlebars mustache thymeleaf blade twig liquid ldap3 boto3 megaparsec tokio-serial better-sqlite3 isolationforest or-tools pyyaml click typer
        spacy nltk huggingface transformers langchain vite webpack rollup esbuild parcel turbopack babel"),
    (TECH | DATABASE, "postgresql postgres mysql mariadb sqlite oracle mssql mongodb mongo couchdb cassandra scylladb redis valkey memcached elasticsearch opensearch solr lucene meilisearch typesense neo4j influxdb
        timescaledb timescale clickhouse duckdb snowflake bigquery redshift dynamodb firestore firebase supabase cockroachdb db2 access dbase h2 rocksdb leveldb lmdb etcd qdrant pgvector milvus pinecone weaviate
        hbase hive postgis tsvector teradata sap hana sybase informix firebird interbase realm couchbase"),
    (TECH | CLOUD, "aws s3 ec2 lambda cloudfront cloudwatch sqs sns rds fargate ecs eks azure gcp gcs cloudflare vercel netlify heroku fly.io render.com digitalocean hetzner linode ovh datadog sentry newrelic splunk-cloud
        pagerduty opsgenie twilio sendgrid mailgun stripe paypal auth0 okta github gitlab bitbucket dropbox onedrive sharepoint salesforce hubspot zendesk slack teams discord zoom google-cloud cloud-run appengine icloud
        kinesis glue athena sagemaker bedrock openai anthropic"),
    (TECH, "kubernetes k8s docker podman helm terraform ansible puppet chef salt vagrant packer nix nixos pulumi cloudformation jenkins circleci travis buildkite argocd flux istio envoy linkerd nginx apache httpd caddy traefik haproxy
        tomcat jetty gunicorn uvicorn puma systemd cron crontab launchd supervisord kafka rabbitmq nats activemq zeromq mqtt mosquitto amqp grpc rest openapi swagger soap websocket websockets webrtc oauth oauth2 openid saml ldap keycloak vault
        prometheus grafana zabbix nagios icinga loki tempo jaeger opentelemetry graylog kibana logstash fluentd fluentbit beats superset metabase tableau powerbi bi looker qlik excel word powerpoint spreadsheet libreoffice google sheets
        wordpress drupal joomla typo3 ghost strapi contentful hugo jekyll eleventy mkdocs sphinx docusaurus antora asciidoctor pandoc latex tex typst confluence wiki sharepoint jira trello shopify magento woocommerce shopware prestashop odoo erp-next
        moodle ilias omero nextcloud owncloud minio ceph nfs samba smb sftp ftp rsync rclone restic borg bacula zfs btrfs lvm raid nas san iscsi ssd
        linux debian ubuntu centos rhel fedora alpine suse arch freebsd openbsd macos windows android ios ipados watchos tvos raspberry arduino esp32 esp8266 stm32 rp2040 cortex avr pic plc opc modbus canbus can-bus bluetooth ble zigbee lora lorawan
        zwave knx bacnet rs-232 rs-485 rs485 rs232 usb i2c spi uart gpio fpga cuda opencl vulkan opengl directx metal webgl
        html html5 css css3 sass scss less xslt xquery xpath regex git svn subversion mercurial perforce maven gradle sbt bazel cmake make meson ninja npm yarn pnpm pip poetry uv conda cargo composer bundler nuget vcpkg conan
        gcc clang msvc llvm ghc eslint prettier ruff black mypy shellcheck clippy sonarqube openssl tls ssl gpg age libsodium acme certbot cert-manager step-ca vpn wireguard ipsec openvpn firewall iptables nftables pfsense
        blender autocad revit solidworks gimp photoshop inkscape figma illustrator indesign qgis arcgis mapserver geoserver osm fiji napari root geant4 openfoam ansys slurm deadline hadoop flink beam nifi dbt fivetran airbyte kettle talend ssis informatica
        jupyter notebook rstudio quarto knitr rmarkdown spss stata sas minitab labview simulink ros ros2 gazebo micrometer asterisk freeswitch kamailio sip snmp syslog smtp imap exchange postfix dovecot sendmail mailman
        obs twitch youtube vlc gstreamer pulseaudio alsa jack whisper tesseract ocr dicom hl7 fhir pacs edifact datev zugferd xrechnung sepa iso swift-mt bpmn camunda activiti temporal zeebe n8n zapier power-automate
        hashicorp consul nomad traefik-proxy selinux apparmor landlock seccomp http https tcp udp dns dhcp ipv4 ipv6 bgp ospf vlan junos cisco juniper mikrotik fortinet oidc sso jwt chatgpt gpt gpt-4 claude llama gemini
        cups papercut civicrm akeneo sitecore aem salesforce-crm dynamics navision netsuite sage lexware quickbooks xero elster serverless edge wsgi asgi cgi webdav caldav carddav ical ics rss atom sse"),
    (TECH | SYSTEM, "linux windows macos android ios ubuntu debian freebsd"),
    (TEST_TOOL | TECH, "pytest junit xunit nunit rspec minitest jest vitest mocha chai jasmine cypress playwright selenium testng mockito hypothesis quickcheck proptest criterion k6 gatling locust jmeter wiremock testcontainers
        axe lighthouse lychee redocly lintian shellcheck eslint ruff mypy phpunit pest kotest spock catch2 gtest googletest doctest bats"),
    (FORMAT, "json xml csv yaml toml protobuf avro parquet html pdf markdown excel xlsx xls docx odt tsv geojson kml gpx svg png jpeg jpg tiff webp gif mp3 wav flac ogg mp4 mkv webm zip tar gzip ini latex asciidoc rtf ndjson jsonl msgpack cbor bson wxr ics epub hdf5 netcdf
        miniseed dxf dwg gltf stl obj shapefile geotiff pmtiles dicom plist"),
    (ENCODING, "utf-8 utf8 utf-16 latin-1 latin1 iso-8859-1 ascii windows-1252 cp1252 ebcdic"),
    (TONGUE, "english german french spanish italian portuguese dutch polish danish swedish norwegian finnish russian ukrainian chinese japanese korean arabic turkish greek czech hungarian romanian"),
    (DATA, "data dataset record records field fields column columns row rows table tables entry entries schema key keys id ids uuid attribute attributes
        property properties payload message messages event events document documents file files image images photo photos picture pictures scan
        scans video videos audio recording recordings reading readings measurement measurements log logs post posts article articles product
        products order orders invoice invoices booking bookings reservation reservations ticket tickets account accounts transaction transactions
        payment payments price prices amount amounts address addresses name names date dates timestamp timestamps title titles label labels tag tags
        category categories comment comments rating ratings score scores sample samples frame frames packet packets struct structs array arrays
        object objects dict dicts map maps tree graph node nodes edge edges index catalogue catalog register registry database db warehouse archive
        backup backups dump dumps export import feed stream topic queue input inputs parameter parameters argument arguments query queries request
        requests response body header headers endpoint endpoints url urls path paths config configuration settings setting variable variables secret
        secrets metric metrics counter counters series value values statistic statistics history inventory stock item items article barcode isbn
        spreadsheet sheet tile tiles certificate certificates repository repositories commit commits branch tree-file word words sentence string
        strings screenshot screenshots chapter chapters section sections hours flag flags session sessions token tokens password passwords profile
        profiles permission permissions role roles temperature humidity pressure level levels position positions coordinate coordinates location
        locations route routes distance weight speed duration length size"),
    (FAILURE, "fail fails failed failing failure failures error errors exception exceptions throw throws thrown raise raises crash crashes crashed broken break breaks breaking invalid missing unknown unreachable unavailable down offline
        timeout timeouts timed reject rejects rejected refuse refuses refused deny denied decline declined retry retries retried fallback rollback revert restore restored restores recover recovers recovery repair repaired abort aborts aborted
        cancel cancelled canceled skip skips skipped ignore ignored ignores discard discarded drop dropped drops malformed corrupt corrupted damaged unreadable unparsable unparseable wrong bad illegal violation violations warn warning warnings alert alerts alarm alarms
        404 400 401 403 409 410 422 429 500 502 503 504 4xx 5xx exit stderr stale outage hang hangs stuck jam jammed lost loss duplicate duplicates conflict conflicts overflow overrun overruns underrun mismatch mismatches unexpected unsupported unauthorised unauthorized
        blocked locked expired bounce bounces bounced dead dead-letter quarantine quarantined incident incidents escalation escalate escalates fault faults faulty defect defective watchdog circuit backoff resend repeat repeated repeats panic
        typeerror valueerror keyerror emergency degraded absent undelivered differ differs differing err again stop stops stopped halt halts flagged missed buffered buffers unrecognised unrecognized unmatched orphaned untouched misses troubleshooting failover standby blank silent silence impossible unfinished incomplete inconsistent implausible contradictory"),
    (OUTPUT, "lesson lessons notebook notebooks exercise exercises workshop output outputs result results report reports return returns returned print prints printed show shows shown display displays displayed response responses answer answers page pages screen pdf html file files document documents
        dashboard chart charts diagram table tables list summary export download downloads deliver delivered deliverable deliverables artifact artifacts image package binary library module website site view views form message mail email
        notification notifications writes written produce produces generates generated create creates created publish published saved stored spreadsheet sheet presentation slides guide manual runbook readme chapter chapters docs documentation
        concept paper csv json xml yaml markdown svg png pull request commit branch release deployed container plugin api endpoint status log logs label labels letter letters certificate certificates"),
    (BLANK, "name names date dates number amount link url uri email mail address city country region company client customer value time version port team person owner deadline budget price threshold limit list path host hostname server id key token secret
        password username user login domain bucket project department supplier vendor provider contact phone title text file folder filename database db_name schema table topic queue account amount percentage interval duration size count region zone cluster namespace
        environment env branch tag ticket product brand logo color colour reason description location place street street month year day week hour manager currency language locale timezone n x y z xx nn"),
    (HTML, "a abbr address article aside audio b base blockquote body br button canvas caption code col dd del details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input
        ins kbd label legend li link main map mark meta meter nav noscript object ol optgroup option output p param picture pre progress q s samp script search section select slot small source span strong style sub summary sup svg table tbody
        td template textarea tfoot th thead time title tr track u ul var video wbr"),
    (SYNTAX, "element elements tag tags xml html markup xpath xsd node regex pattern template templates templating jinja jinja2 handlebars mustache liquid helm vue angular twig blade syntax usage grammar generic generics section stanza toml ini placeholder placeholders
        header include snippet"),
    (USE_VERB, "use uses used using call calls called read reads run runs see sees open opens watch watches receive receives consume consumes download downloads upload uploads type types scan scans click clicks enter enters search searches view views
        look looks check checks book books print prints get gets follow follows carry carries operate operates install installs browse browses"),
    (WHOLE, "system app application program tool service script site website page product gateway device host machine software solution platform library package server client api module component plugin everything firmware whole binary"),
    (SOFTWARE, "app application program tool service script site website page product gateway software platform library api module component plugin plug-in firmware bot worker daemon server client portal shop store dashboard form editor viewer game simulator
        pipeline job importer exporter parser compiler wrapper sdk cli endpoint microservice backend back-end frontend front-end widget extension crawler scraper scheduler calculator tracker converter generator board kiosk display recorder driver
        controller module prototype system database warehouse queue webhook integration feature function search login checkout registration newsletter forum blog catalogue catalog archive index register monitoring alerting monitor player marketplace
        exchange scanner router feed reader planner calendar map optimiser optimizer chatbot assistant receiver ledger inventory scoreboard website-builder"),
    (BUILD, "build create develop implement make write code program set provide produce generate craft prototype design automate launch ship release deliver construct introduce establish start"),
    (CHANGE, "add extend change replace integrate connect enable support allow let show expose include embed convert offer put adapt adjust switch turn split merge combine rework redesign send import export publish store serve keep record track collect print
        prepare speed sort route sync synchronise synchronize notify calculate compute display"),
    (FIX, "fix repair correct resolve debug refactor rename clean cleanup remove delete drop upgrade update bump patch rewrite simplify tidy restructure reorganise reorganize deprecate harden investigate revert stop prevent"),
    (DESCRIBE, "document describe explain draft outline specify plan translate summarise summarize evaluate compare estimate review assess propose recommend advise teach"),
    (DOCUMENT, "how-to how-tos documentation docs doc runbook manual guide tutorial readme handbook howto concept proposal specification spec openapi adr rfc policy notice letter letters article post changelog report paper plan checklist presentation slides faq
        glossary description instructions instruction whitepaper brochure course lesson estimate comparison agenda minutes postmortem playbook onboarding curriculum release-notes notes reference text blog-post"),
    (IMPROVE, "improve optimise optimize speed accelerate reduce increase boost enhance modernise modernize scale lower cut raise shorten minimise minimize maximise maximize streamline better faster tune"),
    (MIGRATE, "migrate move port transfer relocate import consolidate convert replace archive freeze mirror"),
    (ANALYSE, "analyse analyze investigate find determine identify measure examine predict forecast classify detect estimate report train model cluster count research explore visualise visualize plot"),
    (OPERATE, "deploy configure set setup install package host operate monitor schedule provision rotate backup back secure release roll run clean mirror freeze archive"),
    (SCOPE, "test tests staging production development dev local ci debug preview sandbox demo beta pilot weekend weekends weekday weekdays night nights daytime mobile desktop tablet phone web android ios windows linux macos input output
        read reads client server frontend backend internal external admin upload download incoming outgoing inbound outbound import export"),
    (PROPERTY_VERB, "contain contains include includes have has be differ arrive appear occur exceed change fail happen repeat overlap lack miss need require vary"),
    (NAMING, "camelcase snake_case kebab-case pascalcase uppercase lowercase"),
    (CURRENCY, "euro euros eur dollar dollars usd franc francs chf pound gbp yen krone kroner zloty"),
    (CHANNEL, "mail mails e-mail e-mails email emails sms letter letters phone telephone fax push post whatsapp telegram signal"),
    (COLOUR, "red green blue yellow black white orange grey gray brown purple pink violet"),
    (SYSTEM_UNIT, "kilometre kilometres kilometer kilometers km mile miles celsius fahrenheit kelvin kilogram kilograms pound pounds metre metres feet inch inches centimetres litres gallons"),
    (WEEKDAY, "weekend weekends weekday weekdays monday mondays tuesday tuesdays wednesday wednesdays thursday thursdays friday fridays saturday saturdays sunday sundays"),
    (LOCATION, "file function method class module line repository folder directory endpoint page component test screen view table script"),
    (DEFER, "going promised wants supposed meant our last latest appendix april aren't attached attachment august await awaiting be call chat come comes december doesn't don't due dummy e-mail email enclosure
        eventually example expected february follow follows guess guessed hasn't haven't insert isn't january july june later mail march meeting minutes
        missing n next no nobody not november october once open outstanding pending phone placeholder please provisional replace see separately september shortly
        soon spring still tell told tomorrow unclear undecided unknown until waiting when will yet"),
    (UNSETTLED, "agreed announced approved arranged assigned available chosen clarified clear communicated confirmed decided defined delivered determined final finalised finalized finished fixed given known measured named negotiated ordered picked provided ready received selected set settled signed specified supplied there written"),
    (GIVING, "announce announces choose chooses come comes confirm confirms decide decides define defines deliver delivers determine determines find finds fix fixes follow follows give gives name names negotiate negotiates pick picks provide provides send sends set sets settle settles specifies specify supplies supply tell tells"),
];
