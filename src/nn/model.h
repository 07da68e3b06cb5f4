#ifndef TC_NN_MODEL_H
#define TC_NN_MODEL_H
/**
 * @file model.h
 * Networks by name, built as graphs.
 *
 * resnet18/34/50/101/152: He et al. 2015 with the stride in the 3x3 (fb.resnet.torch), gamma 0 in
 * the last BN of each block; resnet20/32/44/56/110/1202: the CIFAR nets of 6n+2 layers with
 * projection shortcuts; googlenetbn: nn/googlenetbn.h; linear: one fc on the pixels (the yardstick
 * of the demo set).
 * Used by: app, train, tests.
 */
#include "nn/graph.h"

/** googlenetbn's auxiliary head.  IDLE: there, but no gradient reaches it, as in the public script,
 *  whose allreduce carries its parameters all the same.  TRAIN: its loss counts 0.3. */
typedef enum { TC_AUX_NONE, TC_AUX_IDLE, TC_AUX_TRAIN } tc_aux;

typedef struct {
    const char *name;
    int64_t classes;
    int64_t size;       /* input height and width; 0: the model's own */
    bool stride_in_1x1; /* bottlenecks: the stride stands there, as in He et al. 2015 */
    tc_aux aux;
} tc_model_options;

/** @retval TC_INVAL  unknown name (the message lists the names), classes < 2, size too small, an
 *                    option that the model does not have. */
tc_status tc_model_build(const tc_model_options *options, tc_graph **graph_p);

/** The model's own input size (32 or 224), or 0 for an unknown name. */
int64_t tc_model_size(const char *name);

/** "none", "idle", "train"; NULL past the last. */
const char *tc_aux_name(int i);

/** The i-th known name, or NULL past the last. */
const char *tc_model_name(int i);

#endif
