#! /bin/sh
# A rank that loses a device while the others wait for its buckets ends the job, and says why.
. "$top_srcdir/tests/tap.sh"
limit=60
job=$top_builddir/tests/table/fatal

for how in "optimized on" "optimized off" "baseline off"; do
  began=`date +%s`
  fails "$how: the job fails and names the device" 1 \
    "rank 1 .*device error: device 1: the fake device was told to fail" mpi 2 "$job" $how
  took=`expr \`date +%s\` - $began`
  ok "$how: at once ($took s)" test $took -le 10
done
tap_done
