#!/usr/bin/env bash
# A class in shares, as a Slurm job array. In the course's folder, on a file system that all nodes see:
#
#   job=$(sbatch --parsable --array=1-16 slurm.sh scratch-1 submissions/)
#   sbatch --dependency=afterok:"$job" slurm.sh --merge
#
# Each task judges one share; the job after them merges all, and is the only one that writes grades. A share that was
# lost is run again alone, with --array=3 and the same arguments: what it had judged is not judged twice.
#SBATCH --job-name=goldsmith
#SBATCH --cpus-per-task=4
#SBATCH --mem=28G
#SBATCH --time=02:00:00
set -euo pipefail

shares=16 # as in --array=1-16
parts=parts

# shellcheck disable=SC1091
source .venv/bin/activate

if [ "$1" = --merge ]; then
    exec goldsmith grade --merge "$parts"/share-*/
fi
exec goldsmith grade "$@" --shard "$SLURM_ARRAY_TASK_ID/$shares" --output "$parts/share-$SLURM_ARRAY_TASK_ID" \
    --jobs "$SLURM_CPUS_PER_TASK"
