# Crafted logs for the tests of the report; sourced.
# shellcheck shell=sh

event() { # KEY VALUE [METADATA]
  clock=$((clock + 1000))
  printf ':::MLLOG {"namespace":"","time_ms":%s,"event_type":"POINT_IN_TIME","key":"%s","value":%s,"metadata":{%s}}\n' \
    "$clock" "$1" "$2" "${3-}"
}

# head_of STORE ALLREDUCE TABLE OVERLAPS [KIND [START_STEP]]: all up to run_start.
head_of() {
  event submission_benchmark '"resnet20"'
  event tricolor_kind "\"${5-measured}\""
  event seed 1
  event global_batch_size 64
  event train_samples 6000
  event eval_samples 1000
  event opt_base_learning_rate 0.025
  event tricolor_config "{\"model\":\"resnet20\",\"store\":\"$1\",\"allreduce\":\"$2 of $2s\",\"allreduce_name\":\"$2\",\"table\":\"$3\",\"overlap\":\"auto\",\"overlaps\":$4,\"backend\":\"onednn\",\"precision\":\"f32\",\"batch\":16,\"devices\":2,\"ranks\":2,\"recipe\":{\"epochs\":3},\"version\":\"0.1.0\",\"hosts\":1,\"host\":\"here\",\"start_step\":${6-0}}"
  event run_start null
}

# epoch NUM IMAGES_PER_S SECONDS TOP1
epoch() {
  event epoch_start null "\"epoch_num\":$1"
  event eval_accuracy "$4" "\"epoch_num\":$1,\"top5\":0.99,\"samples\":1000,\"loss\":0.5"
  event train_loss "1.5" "\"epoch_num\":$1,\"step\":$(($1 * 93))"
  event train_accuracy 0.625 "\"epoch_num\":$1"
  event throughput "$2" "\"epoch_num\":$1"
  event tricolor_time "{\"data\":0.5,\"place\":0.25,\"forward\":2,\"backward\":4,\"reduce\":0.25,\"comm\":1,\"update\":0.25,\"shuffle\":0.125,\"eval\":1,\"checkpoint\":0,\"total\":$3}" "\"epoch_num\":$1"
  event epoch_stop null "\"epoch_num\":$1,\"dropped\":48,\"replaced\":0"
}

# run_of STORE ALLREDUCE TABLE OVERLAPS IMAGES_PER_S SECONDS [KIND]: a whole run of three epochs,
# the first of them slow.
run_of() {
  head_of "$1" "$2" "$3" "$4" "${7-measured}"
  epoch 1 10 99 0.5
  epoch 2 "$5" "$6" 0.9125
  epoch 3 "$5" "$6" 0.9
  event run_stop null '"status":"success"'
}
clock=1700000000000
