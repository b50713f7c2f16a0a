#!/bin/sh
# Writes what agents recorded for a pull request of GitHub, or a merge request of GitLab, into one comment or into the description.
#
# usage: review.sh github|gitlab, in a job of a pull or merge request
#
# Needs git, curl, jq and git-empirica. Fetches commits and notes into a repository without a work tree: nothing of the branch is checked out or
# run. Without the right to write, or with EMPIRICA_PLACE=summary, the text goes to the summary of the job (GitHub) or to empirica.md (GitLab).
#
#   EMPIRICA_PLACE    comment (default), description or summary
#   EMPIRICA_REQUIRE  rules as in empirica.require; the exit code is 3 if the range breaks one
#   EMPIRICA_REPORT   a file for the page of the sessions, HTML
#   EMPIRICA_TOKEN    the token that writes
#   EMPIRICA_PROGRAM  the path of git-empirica, if it is not on PATH
set -eu

BEGIN='<!-- git-empirica -->'
END='<!-- /git-empirica -->'
# hosts refuse longer ones
LONGEST=65536
ATTEMPTS=4

fail() {
	printf 'error: %s\n' "$1" >&2
	exit 1
}

for needed in git curl jq; do
	command -v "$needed" >/dev/null 2>&1 || fail "cannot run $needed: it is not on PATH"
done
PROGRAM=${EMPIRICA_PROGRAM:-git-empirica}
command -v "$PROGRAM" >/dev/null 2>&1 || fail "cannot run $PROGRAM: install git-empirica in an earlier step"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR
export GIT_TERMINAL_PROMPT=0
place=${EMPIRICA_PLACE:-comment}
case $place in comment | description | summary) ;; *) fail "cannot write to '$place': use comment, description or summary" ;; esac
token=${EMPIRICA_TOKEN:-}

umask 077
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
text=$folder/text.md

# An event without a pull request has no number.
event() {
	jq -r "$1 // empty" "$GITHUB_EVENT_PATH"
}

case ${1:-} in
github)
	number=$(event .pull_request.number)
	[ -n "$number" ] || fail 'cannot find the pull request: run this on pull_request or pull_request_target'
	server=${GITHUB_SERVER_URL%/}
	url=$server/$GITHUB_REPOSITORY
	fork=$(event .pull_request.head.repo.full_name)
	[ -z "$fork" ] || [ "$fork" = "$GITHUB_REPOSITORY" ] || fork_url=$server/$fork
	base=refs/heads/$(event .pull_request.base.ref)
	head=refs/pull/$number/head
	user=x-access-token
	reader=$token
	api=$GITHUB_API_URL/repos/$GITHUB_REPOSITORY
	whole=$api/pulls/$number
	update=PATCH
	body=body
	comments=$api/issues/$number/comments
	comment=$api/issues/comments
	author='.user.login'
	identity=$GITHUB_API_URL/user
	myself=.login
	default='github-actions[bot]'
	authorization="Authorization: Bearer $token"
	summary=${GITHUB_STEP_SUMMARY:-/dev/stdout}
	;;
gitlab)
	number=${CI_MERGE_REQUEST_IID:-}
	[ -n "$number" ] || fail 'cannot find the merge request: run this in a merge request pipeline'
	server=${CI_SERVER_URL%/}
	url=$CI_MERGE_REQUEST_PROJECT_URL.git
	[ "${CI_MERGE_REQUEST_SOURCE_PROJECT_URL:-}" = "$CI_MERGE_REQUEST_PROJECT_URL" ] ||
		fork_url=${CI_MERGE_REQUEST_SOURCE_PROJECT_URL:+$CI_MERGE_REQUEST_SOURCE_PROJECT_URL.git}
	base=refs/heads/$CI_MERGE_REQUEST_TARGET_BRANCH_NAME
	head=refs/merge-requests/$number/head
	user=gitlab-ci-token
	reader=${CI_JOB_TOKEN:-}
	whole=$CI_API_V4_URL/projects/$CI_MERGE_REQUEST_PROJECT_ID/merge_requests/$number
	update=PUT
	body=description
	comments=$whole/notes
	comment=$comments
	author='.author.username'
	identity=$CI_API_V4_URL/user
	myself=.username
	default=
	authorization="PRIVATE-TOKEN: $token"
	summary=$PWD/empirica.md
	;;
*) fail 'usage: review.sh github|gitlab' ;;
esac

# The commits and the notes; those of a fork beside those of the repository, as of another remote.
git init --quiet --bare "$folder/repository"
cd "$folder/repository"
if [ -n "$reader" ]; then
	basic=$(printf '%s:%s' "$user" "$reader" | base64 | tr -d '\n')
	export GIT_CONFIG_COUNT=1 "GIT_CONFIG_KEY_0=http.$server/.extraHeader" "GIT_CONFIG_VALUE_0=Authorization: Basic $basic"
fi
git fetch --quiet --no-tags "$url" "+$base:refs/heads/base" "+$head:refs/heads/head" \
	'+refs/notes/empirica/data/*:refs/notes/empirica/data/*' \
	'+refs/notes/empirica/handoffs*:refs/notes/empirica/handoffs*' || fail "cannot fetch the commits and notes of $url"
if [ -n "${fork_url:-}" ]; then
	git fetch --quiet --no-tags "$fork_url" \
		'+refs/notes/empirica/data/*:refs/notes/empirica/remotes/fork/data/*' \
		'+refs/notes/empirica/handoffs*:refs/notes/empirica/remotes/fork/handoffs*' ||
		printf 'warning: cannot fetch the notes of %s\n' "$fork_url" >&2
fi
unset GIT_CONFIG_COUNT GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
git symbolic-ref HEAD refs/heads/head
code=0
if [ -n "${EMPIRICA_REQUIRE:-}" ]; then
	git config empirica.require "$EMPIRICA_REQUIRE"
	"$PROGRAM" handoff --pr base..head --validate >"$text" || code=$?
else
	"$PROGRAM" handoff --pr base..head >"$text" || code=$?
fi
[ "$code" -eq 0 ] || [ "$code" -eq 3 ] || exit "$code"
cd "$OLDPWD"
if [ -n "${EMPIRICA_REPORT:-}" ]; then
	report=$EMPIRICA_REPORT
	case $report in /*) ;; *) report=$PWD/$report ;; esac
	(umask 022 && cd "$folder/repository" && "$PROGRAM" report base..head --html "$report" -q >/dev/null)
fi

to_summary() {
	[ -z "${1:-}" ] || printf 'warning: %s; the text is in the summary of the job\n' "$1" >&2
	cat "$text" >>"$summary"
	exit "$code"
}

# The value of a header of the last answer, by its name in lower case; empty without it.
header() {
	tr -d '\r' <"$folder/headers" | awk -v name="$1" 'BEGIN { FS = ": *" } tolower($1) == name { print $2 }' | tail -n 1
}

# Asks the host: METHOD URL [FILE], with the answer in $folder/answer. Prints the status, 000 without one. Repeats what a busy host refuses.
ask() {
	attempt=1
	while :; do
		: >"$folder/headers"
		printf 'header = "%s"\n' "$authorization" >"$folder/curl"
		status=$(curl --silent --config "$folder/curl" --request "$1" --connect-timeout 10 --max-time 30 \
			--header 'Content-Type: application/json' --header 'Accept: application/json' ${3:+--data-binary "@$3"} \
			--output "$folder/answer" --dump-header "$folder/headers" --write-out '%{http_code}' "$2") || status=000
		wait=$(header retry-after)
		case $status in
		429 | 5?? | 000) ;;
		403) [ -n "$wait" ] || [ "$(header x-ratelimit-remaining)" = 0 ] || break ;;
		*) break ;;
		esac
		[ "$attempt" -lt "$ATTEMPTS" ] || break
		case $wait in '' | *[!0-9]*) wait=$((1 << attempt)) ;; esac
		[ "$wait" -le 60 ] || break
		sleep "$wait"
		attempt=$((attempt + 1))
	done
	printf %s "$status"
}

# Sends the block as the value of a key, unless the host has it.
send() {
	[ "$(wc -c <"$folder/new")" -le "$LONGEST" ] || to_summary "cannot write it: it would have more than $LONGEST bytes"
	jq --raw-input --slurp "{(\$key): .}" --arg key "$3" <"$folder/new" >"$folder/data"
	status=$(ask "$1" "$2" "$folder/data")
	case $status in
	2??) exit "$code" ;;
	*) to_summary "cannot write to $2: the host answered with $status" ;;
	esac
}

[ "$place" != summary ] || to_summary
[ -n "$token" ] || to_summary 'cannot write: there is no token'
{
	printf '%s\n' "$BEGIN"
	cat "$text"
	printf '%s\n' "$END"
} >"$folder/block"
is_empty=false
case $(head -n 1 "$text") in 'No agent recorded anything'*) is_empty=true ;; esac

if [ "$place" = description ]; then
	status=$(ask GET "$whole")
	[ "$status" = 200 ] || to_summary "cannot read $whole: the host answered with $status"
	# what is between the markers is ours, all else stays byte for byte
	if ! jq --join-output --arg key "$body" --arg from "$BEGIN" --arg upto "$END" --rawfile block "$folder/block" --argjson empty "$is_empty" '
		(.[$key] // "") as $old | ($old | split($from)) as $parts | ($block | rtrimstr("\n")) as $new |
		if ($parts | length) <= 1 then (if $empty or $old == "" then $old else $old + "\n\n" end) + (if $empty then "" else $new end)
		elif ($parts | length) == 2 and ($parts[1] | split($upto) | length) == 2
		then $parts[0] + $new + ($parts[1] | split($upto))[1]
		else error("markers") end' "$folder/answer" >"$folder/new" 2>/dev/null; then
		to_summary 'cannot write to the description: it does not have one beginning and one end'
	fi
	jq --join-output ".$body // \"\"" "$folder/answer" >"$folder/old"
	! cmp -s "$folder/old" "$folder/new" || exit "$code"
	send "$update" "$whole" "$body"
fi

# our comment: one that begins with the marker and is by the owner of the token
status=$(ask GET "$identity")
me=$default
[ "$status" != 200 ] || me=$(jq -r "$myself" "$folder/answer")
page=1
while :; do
	status=$(ask GET "$comments?per_page=100&page=$page")
	[ "$status" = 200 ] || to_summary "cannot read $comments: the host answered with $status"
	jq --arg begin "$BEGIN" --arg me "$me" "[.[] | select((.body // \"\" | startswith(\$begin)) and $author == \$me)][0] // empty" \
		"$folder/answer" >"$folder/found"
	[ ! -s "$folder/found" ] || break
	[ "$(jq length "$folder/answer")" -eq 100 ] || break
	page=$((page + 1))
done
cp "$folder/block" "$folder/new"
if [ ! -s "$folder/found" ]; then
	[ "$is_empty" = false ] || exit "$code"
	send POST "$comments" body
fi
# hosts may drop line ends at the end
[ "$(jq --join-output .body "$folder/found" | tr -d '\r')" != "$(cat "$folder/new")" ] || exit "$code"
send "$update" "$comment/$(jq -r .id "$folder/found")" body
