#!/bin/bash
# Tells whether the server accepts the credentials that the Secret has now. When it was
# started with others, it rejects clients that read the Secret.
#
#   ready.sh CREDENTIALS RUN
set -euo pipefail
credentials=$1 run=$2

for key in username password; do
  if [[ $(<"$credentials/$key") != "$(<"$run/applied/$key")" ]]; then
    echo "the key $key of the Secret has changed: clients are rejected until the next start applies it"
    exit 1
  fi
done
exec mysql --defaults-file="$run/client.cnf" --execute='SELECT 1'
