#!/bin/sh
# Makes the scratch repository of `make run`, if it is not there.
set -eu
dir=$1
[ -d "$dir/.git" ] && exit 0
mkdir -p "$dir"
cd "$dir"
git init -q .
cat >README.md <<'TXT'
# Playground

A scratch repository for trying Paragents. Nothing in it matters.
TXT
cat >shopping.txt <<'TXT'
apples
bread
TXT
cat >paragents.demo.yaml <<'TXT'
# The configuration of make run: state in this folder's own file; the demo model, unless OPENAI_API_KEY or PARAGENTS_LLM_BASE_URL is set.
store:
  url: file:.state/state.db
TXT
printf '.state/\n.paragents/\nparagents.demo.yaml\n' >.gitignore
git add -A
git -c user.name=playground -c user.email=playground@example.org commit -q -m 'begin'
