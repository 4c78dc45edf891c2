#!/bin/sh
# options.sh BUILD - command lines and exit codes that all daemons and rmdscnf share.
# SPDX-License-Identifier: Apache-2.0
bin=$1/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
bad=0
expect() { # CODE TEXT COMMAND...: exit code, and a text in what it says
    code=$1 text=$2
    shift 2
    "$@" >out 2>&1
    got=$?
    if [ $got != "$code" ] || ! grep -qF -- "$text" out; then
        bad=1
        echo "$*: exit code $got, wanted $code with \"$text\"; it said:"
        head -n 5 out
    fi
}
echo '*p2ps*maxMounts : many' >wrong.cnf
echo '*maxMounts : 5' >right.cnf
echo '*nice = 5' >equals.cnf
echo '*nice : many' >all.cnf
for program in rrcpd src_dist p2ps; do
    [ -x "$bin/$program" ] || continue
    expect 0 "$program 0." "$bin/$program" -version
    expect 0 "libnuma" "$bin/$program" --version
    for option in -c -instance -node -D -set -fg -d -log -loglevel -noretry -strict -checkconfig \
        -help-config -version -help; do
        expect 0 "  $option " "$bin/$program" -help
    done
    expect 0 "maxPktPoolSize" "$bin/$program" -help-config
    expect 1 "unknown option -instanse; did you mean -instance; -help lists all" \
        "$bin/$program" -instanse 2
    expect 1 "-c needs an argument: -c FILE" "$bin/$program" -c
    expect 1 "-strict takes no argument" "$bin/$program" --strict=yes
    expect 2 "nowhere.cnf: error: cannot be read: No such file or directory" \
        "$bin/$program" -fg -c nowhere.cnf
    expect 1 'all.cnf:1: error: *nice: "many" is not a number (-20..19)' \
        "$bin/$program" -fg -c all.cnf
    expect 1 "1 error in the configuration; not started" "$bin/$program" -fg -c all.cnf
    expect 0 ".1.$program.nice : 0    ! default" "$bin/$program" -checkconfig -c right.cnf
    expect 0 ".3.$program.nice : 7    ! -set:1" \
        "$bin/$program" --checkconfig --config=right.cnf -instance 3 -set '*nice : 7'
    expect 0 "vega.1.$program.nice : 4" "$bin/$program" -checkconfig -c right.cnf -node vega.x.org \
        -D n=4 -set '*nice : {n}'
    expect 0 "'=' accepted as ':'" "$bin/$program" -checkconfig -c equals.cnf
    expect 1 "'=' stands where ':' belongs (-strict)" "$bin/$program" -checkconfig -strict \
        -c equals.cnf
    printf 'vegaa*p2ps*maxMounts : 5\n' >other.cnf
expect 0 "this file speaks of host vegaa; this host is" "$bin/rmdscnf" check other.cnf
expect 0 "other.cnf:1: note: this file speaks of host vegaa; this host is" "$bin/p2ps" -checkconfig -c other.cnf
expect 0 "0 errors, 0 warnings" "$bin/rmdscnf" -node vegaa check other.cnf
expect 2 "gone.cnf" env RMDS_CONFIG=gone.cnf "$bin/$program" -fg
    expect 0 ".nice : 5    ! equals.cnf:1" env DISTRIBUTION_CONFIG=equals.cnf "$bin/$program" -checkconfig
done
# One daemon's mistake stops that daemon alone.
expect 1 'wrong.cnf:1: error: *p2ps*maxMounts: "many" is not a number (1..65000)' \
    "$bin/p2ps" -fg -c wrong.cnf
for program in rrcpd src_dist; do
    expect 0 "(not a line of vega.1.$program, which starts without it)" \
        "$bin/$program" -checkconfig -node vega -c wrong.cnf
done
echo '{node}*Src_Dist*{inst}.route*hostList : <sinkdrivensrc_hostname>' >words.cnf
echo '*p2ps*tcpSendBufSize : [commented out]' >>words.cnf
expect 1 "words.cnf:1: error: vega*Src_Dist*?.route*hostList: <sinkdrivensrc_hostname> is not defined; \
give it with -D sinkdrivensrc_hostname=VALUE" "$bin/src_dist" -fg -node vega -c words.cnf
expect 0 ".1.src_dist.1.route.hostList : lyra    ! words.cnf:1" \
    "$bin/src_dist" -checkconfig -D inst=1 -D sinkdrivensrc_hostname=lyra -c words.cnf
expect 0 ".1.p2ps.tcpSendBufSize : 0    ! default" "$bin/p2ps" -checkconfig -c words.cnf
expect 0 '"[commented out]" means that the line is absent' "$bin/p2ps" -checkconfig -c words.cnf
expect 0 "" "$bin/rrcpd" -checkconfig -c words.cnf
echo '*maxMouts : 5' >typo.cnf
expect 0 "did you mean maxMounts?" "$bin/rmdscnf" check typo.cnf
expect 1 "typo.cnf: 1 error, 0 warnings" "$bin/rmdscnf" -strict check typo.cnf
expect 1 "did you mean maxMounts?" "$bin/p2ps" -strict -checkconfig -c typo.cnf
echo '*maxMounts : 6' >second.cnf
expect 0 "right.cnf: 0 errors, 0 warnings" "$bin/rmdscnf" check right.cnf second.cnf
expect 0 ".1.p2ps.maxMounts : 6    ! second.cnf:1" "$bin/p2ps" -checkconfig -c right.cnf -c second.cnf
expect 0 "right.cnf: 0 errors, 0 warnings" "$bin/rmdscnf" check right.cnf
expect 1 "wrong.cnf: 1 error, 0 warnings" "$bin/rmdscnf" check wrong.cnf
expect 2 "gone.cnf" "$bin/rmdscnf" check gone.cnf
expect 0 "5	right.cnf:1" "$bin/rmdscnf" get right.cnf p2ps maxMounts
expect 0 "1000	default" "$bin/rmdscnf" get equals.cnf p2ps.2 maxMounts
expect 0 "60	default" "$bin/rmdscnf" get right.cnf ads port.14002.pingTimeout
expect 1 "p2ps has no parameter hostList there" "$bin/rmdscnf" get right.cnf p2ps hostList
expect 1 "no program p2sp" "$bin/rmdscnf" get right.cnf p2sp maxMounts
expect 0 ".1.p2ps.maxMounts : 5    ! right.cnf:1" "$bin/rmdscnf" list right.cnf p2ps
expect 0 "startList" "$bin/rmdscnf" list
expect 1 "usage:" "$bin/rmdscnf" frobnicate
# One style: one dash or two, -help and -version everywhere, -h too where it is not the host.
for program in rrcpd src_dist p2ps sink_driven_src rmdstestclient rmdsmon rmdscnf rmdsaccess rmdsfault rmdsrec rwfdump rrcpperf; do
    [ -x "$bin/$program" ] || continue
    for option in -help --help; do expect 0 "sage: $program" "$bin/$program" $option; done
    for option in -version --version; do expect 0 "$program 0." "$bin/$program" $option; done
    [ $program = rmdstestclient ] || expect 0 "sage: $program" "$bin/$program" -h
done
# The names that printed command lines have.
for program in testclient testserver RMDSTestClient Sink_Driven_Src; do
    [ -x "$bin/$program" ] || continue
    case $program in
    testclient | RMDSTestClient) expect 0 "rmdstestclient - opens items" "$bin/$program" -help ;;
    *) expect 0 "sink_driven_src - a provider" "$bin/$program" -help ;;
    esac
done
for program in rrcpd src_dist p2ps sink_driven_src rmdstestclient rmdsmon rmdscnf rmdsaccess rmdsfault rrcpperf; do
    [ -x "$bin/$program" ] || continue
    expect 1 "unknown option -hlep; did you mean -help; -help lists all" "$bin/$program" -hlep
done
for program in src_dist p2ps sink_driven_src rmdstestclient rmdsmon; do
    [ -x "$bin/$program" ] || continue
    expect 1 "\"versoin\" is not an option, and $program takes no other arguments; did you mean -version" \
        "$bin/$program" versoin
done
expect 1 "ran past the end" "$bin/rwfdump" -input raw -output text right.cnf
exit $bad
