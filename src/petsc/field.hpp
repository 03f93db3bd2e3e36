// Setters and getters of a preconditioner's options, as its composed functions have them:
// PetscObjectComposeFunction(pc, "PCXSetY_C", &SetField<&PC_X::y>).
#pragma once
#include "petsc/compat.h"
#include <petsc/private/pcimpl.h>

namespace tessera {

template <auto field> struct Member;
template <class Data, class T, T Data::*field> struct Member<field> {
  using data  = Data;
  using value = T;
};

// A change takes effect at the next setup, which is due then.
template <auto field> PetscErrorCode SetField(PC pc, typename Member<field>::value value)
{
  auto *data = (typename Member<field>::data *)pc->data;

  PetscFunctionBegin;
  if (data->*field != value) {
    data->*field    = value;
    data->current   = PETSC_FALSE;
    pc->setupcalled = PETSC_FALSE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

template <auto field> PetscErrorCode GetField(PC pc, typename Member<field>::value *value)
{
  PetscFunctionBegin;
  *value = ((typename Member<field>::data *)pc->data)->*field;
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
