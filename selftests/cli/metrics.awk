# SPDX-License-Identifier: GPL-2.0
#
# awk -v form=openmetrics|prometheus -f metrics.awk: is this text of metrics well-formed?
#
# The rules are those of OpenMetrics 1.0 (openmetrics, with "# EOF" at its end), or those of
# Prometheus' text format 0.0.4 (prometheus). Only what trampctl writes is known here: counters
# and gauges, no timestamps, no exemplars. Prints what is wrong; exit status 1 if anything is.

function wrong(why) {
	printf "# line %d: %s: %s\n", NR, why, $0
	bad = 1
}

# A new family; all of its lines come together.
function family(name) {
	if (name == now)
		return
	if (name in known)
		wrong("the family comes twice")
	known[name] = 1
	now = name
	type = ""
	samples = 0
	delete had
}

# Takes the labels off the front of rest, a text behind "{"; 0 if it is malformed.
function labels(names, label) {
	while (1) {
		if (!match(rest, /^[a-zA-Z_][a-zA-Z0-9_]*="/))
			return 0
		label = substr(rest, 1, RLENGTH - 2)
		if ((" " names " ") ~ (" " label " "))
			return 0
		names = names " " label
		rest = substr(rest, RLENGTH + 1)
		while (match(rest, /^[^"\\]+/) || match(rest, /^\\["\\n]/))
			rest = substr(rest, RLENGTH + 1)
		if (substr(rest, 1, 1) != "\"")
			return 0
		rest = substr(rest, 2)
		if (substr(rest, 1, 1) == "}") {
			rest = substr(rest, 2)
			return 1
		}
		if (substr(rest, 1, 1) != ",")
			return 0
		rest = substr(rest, 2)
	}
}

ended { wrong("behind the end") }
/^$/ { wrong("an empty line"); next }
$0 == "# EOF" {
	if (form != "openmetrics")
		wrong("this form has no end")
	ended = 1
	next
}

/^#/ {
	if ($1 != "#" || $2 !~ /^(TYPE|UNIT|HELP)$/ || $3 !~ /^[a-zA-Z_:][a-zA-Z0-9_:]*$/ || NF < 4) {
		wrong("no metadata")
		next
	}
	family($3)
	if (samples)
		wrong("metadata behind samples")
	if ($2 in had)
		wrong("a second one")
	had[$2] = 1
	if ($2 == "TYPE") {
		type = $4
		if (NF != 4 || type !~ /^(counter|gauge)$/)
			wrong("no type")
		if (form == "openmetrics" && $3 ~ /_(total|created|count|sum|bucket)$/)
			wrong("a reserved suffix")
		if (form == "prometheus" && (type == "counter") != ($3 ~ /_total$/))
			wrong("counters and nothing else end in _total")
	} else if ($2 == "UNIT") {
		if (form != "openmetrics" || NF != 4)
			wrong("no unit is to be here")
		if (substr($3, length($3) - length($4)) != "_" $4)
			wrong("the unit is not at the end of the name")
	} else if ($0 ~ /\\[^\\n"]/) {
		wrong("a wrong escape")
	}
	next
}

{
	rest = $0
	if (!match(rest, /^[a-zA-Z_:][a-zA-Z0-9_:]*/)) {
		wrong("no sample")
		next
	}
	name = substr(rest, 1, RLENGTH)
	rest = substr(rest, RLENGTH + 1)
	if (type == "" || name != now (form == "openmetrics" && type == "counter" ? "_total" : ""))
		wrong("it does not belong to the family " now)
	if (substr(rest, 1, 1) == "{") {
		rest = substr(rest, 2)
		if (!labels("", "")) {
			wrong("malformed labels")
			next
		}
	}
	if (rest !~ /^ [0-9]+$/)
		wrong("no value")
	series = substr($0, 1, length($0) - length(rest))
	if (series in seen)
		wrong("the series comes twice")
	seen[series] = 1
	samples++
	nr++
}

END {
	if (form == "openmetrics" && !ended) {
		print "# there is no end"
		bad = 1
	}
	if (!nr) {
		print "# there is no sample"
		bad = 1
	}
	exit bad
}
