# SPDX-License-Identifier: GPL-2.0
#
# The sentences of a text, held against the rules of tools/check.d/prose, which runs this:
# awk -v kind=md|man|c|sh|pkg -v limit=WORDS -f prose.awk FILE...
#
# Prints FILE:LINE:RULE:TEXT; the line is the one that the sentence begins in.
#
# A text is cut into paragraphs first, which is all that the kinds differ in: what is markup,
# what ends a paragraph, and what is no prose (code, tables, headings). A code span or a name in
# a macro counts as one word.

function report(rule, line, text) {
	gsub(/\001/, "`...`", text)
	print FILENAME ":" line ":" rule ":" substr(text, 1, 90)
}

function phrases(text, line) {
	if (match(tolower(text), /(^|[^a-z])(none of|that one's|is told)([^a-z]|$)/))
		report("phrase", line, substr(text, RSTART > 30 ? RSTART - 30 : 1, 80))
}

# One sentence; a heading is none. A cell of a table may be a list: it has no limit.
function sentence(text, line,    word) {
	sub(/^[ "'(*_]+/, "", text)
	if (text ~ /^(What|Who|Whoever|Whose)[ ,]/ && text !~ /\?[)"]*$/)
		report("begins", line, text)
	if (!in_cell && split(text, word, " ") > limit)
		report("long", line, word[0] split(text, word, " ") " words: " text)
}

# add TEXT: one more line of the paragraph
function add(text) {
	if (nr_lines == 0)
		first = FNR
	nr_lines++
	para = para (para == "" ? "" : " ") text
	# Where in the paragraph each line begins, to tell a sentence's line.
	at[nr_lines] = length(para) - length(text) + 1
	number[nr_lines] = FNR
}

function line_at(pos,    i) {
	for (i = nr_lines; i > 1 && at[i] > pos; i--)
		;
	return number[i]
}

# The paragraph ends: cut it into sentences.
function flush(    rest, pos, len) {
	if (para != "") {
		pos = 1
		rest = para
		while (match(rest, /[.!?][)"'*]* +["'(*`\001]*[A-Z\001`]/)) {
			# Not behind an abbreviation or an initial.
			len = RSTART
			if (substr(rest, 1, RSTART) ~ /(^|[ (])(e\.g|i\.e|etc|vs|cf|No)\.$/) {
				held = held substr(rest, 1, RSTART)
				rest = substr(rest, RSTART + 1)
				pos += RSTART
				continue
			}
			sentence(held substr(rest, 1, len), line_at(pos - length(held)))
			held = ""
			rest = substr(rest, len + 1)
			pos += len
			if (match(rest, /^[)"'*]* +/)) {
				pos += RLENGTH
				rest = substr(rest, RLENGTH + 1)
			}
		}
		sentence(held rest, line_at(pos - length(held)))
		held = ""
	}
	para = ""
	nr_lines = 0
}

# Markup of a line that is no prose.
function unmark(text) {
	gsub(/`[^`]*`/, "\001", text)
	gsub(/\]\([^)]*\)/, "]", text)
	gsub(/[][]/, "", text)
	gsub(/\*\*/, "", text)
	return text
}

# A row of a table: each cell is a paragraph.
function cells(row,    cell, i, n) {
	n = split(unmark(row), cell, "|")
	in_cell = 1
	for (i = 1; i <= n; i++) {
		gsub(/^ +| +$/, "", cell[i])
		add(cell[i])
		flush()
	}
	in_cell = 0
}

FNR == 1 {
	flush()
	fenced = commented = verbatim = described = 0
}

# ---------------------------------------------------------------- markdown --

kind == "md" {
	if ($0 ~ /^ *```/) {
		flush()
		fenced = !fenced
		next
	}
	if (fenced)
		next
	if ($0 ~ /^ *\|/) {
		flush()
		phrases($0, FNR)
		cells($0)
		next
	}
	if (length($0) > 100)
		report("wide", FNR, $0)
	if ($0 ~ /^(    |\t)/ && para == "") {	# a code block by indentation
		next
	}
	if ($0 ~ /^ *$/ || $0 ~ /^#/ || $0 ~ /^ *<!--/ || $0 ~ /^!\[/) {
		flush()
		next
	}
	phrases($0, FNR)
	text = $0
	if (sub(/^ *([-*]|[0-9]+\.) +/, "", text))
		flush()
	sub(/^ +/, "", text)
	add(unmark(text))
	next
}

# --------------------------------------------------------------- man pages --

kind == "man" {
	if ($0 ~ /^\.Bd/)
		verbatim = 1
	if ($0 ~ /^\.Ed/)
		verbatim = 0
	if ($0 ~ /^\.\\"/ || verbatim)
		next
	if ($0 ~ /^\.(Pp|Xo|Xc|Sh|Ss|It|Bl|El|Ed|Dl|D1|F[cnot]|In|Sx|Os|Dd|Dt|Nd|Rs|Re|%|Fd)/ &&
	    $0 !~ /^\.Fn .* [.,;:)]*$/ && $0 !~ /^\.Fn [a-z_]+( .*)?$/) {
		flush()
		next
	}
	text = $0
	if (sub(/^\.[A-Z][a-z] */, "", text)) {
		punct = match(text, / [.,;:)]+$/) ? substr(text, RSTART + 1) : ""
		text = "\001" punct
	} else {
		phrases(text, FNR)
	}
	gsub(/\\&/, "", text)
	add(text)
	next
}

# ----------------------------------------------------- packages' descriptions --

# Of rpm: sections that begin with %description. Of Debian: what is indented behind Description.
# Other lines are as those of scripts.
kind == "pkg" {
	if (/^%/ || /^[A-Z][A-Za-z-]*:/) {
		flush()
		described = /^%description/ || /^Description:/
		next
	}
	if (described && $0 !~ /^#/) {
		if ($0 ~ /^ ?\.?$/)
			flush()
		else
			add(substr($0, match($0, /[^ ]/)))
		next
	}
}

# ------------------------------------------------- comments of shell, make --

kind == "sh" || kind == "pkg" {
	if ($0 !~ /^[ \t]*#/ || $0 ~ /^#!/ || $0 ~ /SPDX|shellcheck /) {
		flush()
		next
	}
	text = $0
	sub(/^[ \t]*#/, "", text)
	plain(text)
	next
}

# ------------------------------------------------ comments and texts of C --

kind == "c" {
	line = $0
	if (!commented && line !~ /\/\*/) {
		strings(line)
		flush()
		next
	}
	if (!commented) {
		strings(substr(line, 1, index(line, "/*") - 1))
		line = substr(line, index(line, "/*") + 2)
		sub(/^\*/, "", line)
		flush()
		commented = 1
	} else {
		sub(/^[ \t]*\*($|[ \t\/])/, " ", line)
		if ($0 ~ /^[ \t]*\*\//)
			line = ""
	}
	ends = $0 ~ /\*\//
	sub(/\*\/.*/, "", line)
	if (line !~ /SPDX/)
		plain(line)
	if (ends) {
		flush()
		commented = 0
	}
	next
}

# Texts that are printed.
function strings(line,    text) {
	if (line ~ /^[ \t]*#[ \t]*include/)
		return
	while (match(line, /"([^"\\]|\\.)*"/)) {
		text = substr(line, RSTART + 1, RLENGTH - 2)
		line = substr(line, RSTART + RLENGTH)
		phrases(text, FNR)
		if (text ~ /^(What|Who|Whoever|Whose) /)
			report("begins", FNR, text)
	}
}

# A line of a comment: what is set off by blanks or begins like a label is a paragraph by itself.
function plain(text) {
	phrases(text, FNR)
	if (text ~ /^[ \t]*$/ || text ~ /^(   |\t| *---)/ && para == "" || text ~ /[ \t]---/) {
		flush()
		return
	}
	if (text ~ /^ *([-*]|[0-9]+\.|@[A-Za-z_, @]+:|\.\.\.|Context:|Return:|Errors:) */) {
		flush()
		sub(/^ *([-*]|[0-9]+\.|@[A-Za-z_, @]+:|Context:|Return:|Errors:) */, "", text)
	}
	# A row of a table: a label, a gap, a text.
	if (match(text, /[^ \t.](   |\t)[ \t]*[^ \t]/)) {
		flush()
		text = substr(text, RSTART + 1)
	}
	gsub(/^[ \t]+/, "", text)
	gsub(/`[^`]*`/, "\001", text)
	add(text)
}

END { flush() }
