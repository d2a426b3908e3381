# RUN_INPUT.json is canonical (one line, members sorted, no white space) and was checked against
# INPUT_SCHEMA.json, so a number is found by the name in front of it.
function number(name,    rest) {
    rest = input
    if (!sub(".*\"inputs\":\\{", "", rest) || !sub(".*\"" name "\":", "", rest)) {
        print "no number called " name > "/dev/stderr"
        exit 3
    }
    sub("[,}].*", "", rest)
    return rest + 0
}

{ input = input $0 }

END {
    natural = number("natural_hz")
    damping = number("damping_ratio")
    from = number("from_hz")
    to = number("to_hz")
    steps = number("steps")
    csv = ENVIRON["RUNSEAL_ARTIFACTS"] "/sweep.csv"
    print "hz,gain,phase_rad" > csv
    best = -1
    for (i = 0; i < steps; i++) {
        hz = from + (to - from) * i / (steps - 1)
        r = hz / natural
        a = 1 - r * r
        b = 2 * damping * r
        gain = 1 / sqrt(a * a + b * b)
        printf "%.6f,%.6f,%.6f\n", hz, gain, atan2(-b, a) > csv
        if (gain > best) { best = gain; peak = hz }
    }
    printf "{\"engine\":{\"engine_code\":\"RESONANCE_SWEEP\",\"engine_version\":\"1.0.0\"},"
    printf "\"semantics\":\"DETERMINISTIC_TRANSFORM\","
    printf "\"outputs\":{\"peak_hz\":%.6f,\"peak_gain\":%.6f,\"samples\":%d}}\n", peak, best, steps
}
