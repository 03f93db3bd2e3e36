#pragma once
#include <petscmat.h>

/* The Delassus matrix W, dense; the vector q; a coefficient of friction for each contact, none where the file has none. */
PetscErrorCode ReadProblem(const char *name, Mat *W, Vec *q, Vec *mu);
