#!/bin/bash
# Becomes the server of a Mysql.
#
#   start.sh CONFIG CREDENTIALS RUN DATA
#
# CONFIG has this file and my.cnf, CREDENTIALS the keys of the Secret, RUN is for
# what nobody else may read, DATA is the volume. The credentials of the Secret are
# applied at every start, whatever the data say: the Secret may be a new one. They
# are in files that only the server's user can read, and on no command line.
set -euo pipefail
umask 077
config=$1 credentials=$2 run=$3 data=$4

secret() { # KEY: its value
  local value
  value=$(<"$credentials/$1")
  if [[ -z $value || $value == *$'\n'* ]]; then
    echo "start: the key $1 of the Secret must be one line of text" >&2
    exit 1
  fi
  printf '%s' "$value"
}

text() { # VALUE: as a string of SQL
  local value=${1//\\/\\\\}
  printf "'%s'" "${value//\'/\'\'}"
}

name() { # VALUE: as a name of SQL
  printf '`%s`' "${1//\`/\`\`}"
}

pattern() { # VALUE: as a name of SQL for GRANT, where _ and % stand for others
  local value=${1//_/\\_}
  name "${value//%/\\%}"
}

option() { # VALUE: as a value of an option file
  local value=${1//\\/\\\\}
  printf '"%s"' "${value//\"/\\\"}"
}

database=$(secret database)
user=$(secret username)
password=$(secret password)
root_password=$(secret root-password)
port=$(secret port)
socket=$run/mysqld.sock

# The server runs this before it takes connections. One statement to a line.
account() { # ACCOUNT PASSWORD
  echo "CREATE USER IF NOT EXISTS $1 IDENTIFIED BY $(text "$2");"
  echo "ALTER USER $1 IDENTIFIED BY $(text "$2");"
}
{
  echo "SET SESSION sql_mode = '';"
  echo "CREATE DATABASE IF NOT EXISTS $(name "$database");"
  account "'root'@'localhost'" "$root_password"
  account "$(text "$user")@'%'" "$password"
  echo "GRANT ALL PRIVILEGES ON $(pattern "$database").* TO $(text "$user")@'%';"
} >"$run/init.sql"

# client.cnf is for the probes, root.cnf for people inside of the Pod.
printf '[client]\nprotocol=tcp\nhost=127.0.0.1\nport=%s\nuser=%s\npassword=%s\n' \
  "$port" "$(option "$user")" "$(option "$password")" >"$run/client.cnf"
printf '[client]\nsocket=%s\nuser=root\npassword=%s\n' \
  "$socket" "$(option "$root_password")" >"$run/root.cnf"

# What alive.sh compares the Secret with.
mkdir -p "$run/applied"
for key in username password root-password; do
  secret "$key" >"$run/applied/$key"
done

# A data directory that was not finished is not taken for one.
if [[ ! -d $data/data ]]; then
  rm -rf "$data/new"
  mysqld --defaults-file="$config/my.cnf" --datadir="$data/new" --initialize-insecure
  mv "$data/new" "$data/data"
fi

exec mysqld --defaults-file="$config/my.cnf" --datadir="$data/data" \
  --socket="$socket" --pid-file="$run/mysqld.pid" --init-file="$run/init.sql"
