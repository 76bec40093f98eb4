#!/usr/bin/env bash
# Pushes the newest commit, a run that mcpstrata recorded, to a branch of origin.
#
#   .ci/push.sh BRANCH
#
# When the branch moved meanwhile, the commit is put on top of it and pushed
# again; never by force. Its dates stay those of the run. It fails when the two
# touch the same files: then another run of that day was pushed.
#
# TOKEN, if set, is sent to github.com as the credential; it is passed by the
# environment, so that no command line shows it.
set -euo pipefail

branch=${1:?usage: .ci/push.sh BRANCH}
tries=5

if [ -n "${TOKEN:-}" ]; then
  auth=$(printf 'x-access-token:%s' "$TOKEN" | base64 -w0)
  if [ "${GITHUB_ACTIONS:-}" = true ]; then
    echo "::add-mask::$auth"
  fi
  export GIT_CONFIG_COUNT=1
  export GIT_CONFIG_KEY_0=http.https://github.com/.extraheader
  export GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $auth"
fi
GIT_COMMITTER_NAME=$(git log -1 --format=%cn)
GIT_COMMITTER_EMAIL=$(git log -1 --format=%ce)
export GIT_COMMITTER_NAME GIT_COMMITTER_EMAIL

for try in $(seq "$tries"); do
  if git push --quiet origin "HEAD:refs/heads/$branch"; then
    echo "pushed $(git rev-parse HEAD) to $branch"
    exit 0
  fi
  if [ "$try" = "$tries" ]; then
    break
  fi
  sleep "${PUSH_WAIT:-$((try * 5 + RANDOM % 10))}"
  # Without a depth, so that the commits between come too.
  git fetch --quiet origin "refs/heads/$branch"
  if ! git rebase --quiet --committer-date-is-author-date --onto FETCH_HEAD HEAD~1; then
    git rebase --abort
    echo "push: $branch holds other records of this run; nothing was pushed" >&2
    exit 1
  fi
done
echo "push: $branch took nothing in $tries tries" >&2
exit 1
