#!/bin/bash
# Tells whether the server answers, and whether it was started with the credentials
# that the Secret has now. It is started again otherwise, and applies them.
#
#   alive.sh CREDENTIALS RUN
set -euo pipefail
credentials=$1 run=$2

for key in username password root-password; do
  if [[ $(<"$credentials/$key") != "$(<"$run/applied/$key")" ]]; then
    echo "the key $key of the Secret has changed: starting again to apply it"
    exit 1
  fi
done
exec mysqladmin --defaults-file="$run/client.cnf" ping
