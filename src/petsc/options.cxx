#include "petsc/options.hpp"
#include "petsc/device.hpp"
#include <algorithm>
#include <petsctao.h>

namespace tessera {

using Kind = Option::Kind;

// How many integers are the value.
static int Numbers(const Option &o)
{
  return o.kind == Kind::integer ? 1 : o.kind == Kind::pair ? 2 : o.kind == Kind::sizes ? 3 : 0;
}

static bool Within(const Option &o, PetscReal value)
{
  return o.between ? value > o.min && value < o.max : value >= o.min && value <= o.max;
}

// A row's text as the object says it: where a Tao has the options of a SNES, by Tao's names.
static PetscErrorCode NameOf(PetscObject object, const char *text, std::string *name)
{
  const char *const words[][2] = {
    {"-snes_", "-tao_"},
    {"SNES",   "Tao"  }
  };
  PetscClassId id;

  PetscFunctionBegin;
  PetscCall(PetscObjectGetClassId(object, &id));
  TesseraCallCXX(*name = text);
  if (id != TAO_CLASSID) PetscFunctionReturn(PETSC_SUCCESS);
  for (const auto &word : words)
    for (size_t at; (at = name->find(word[0])) != std::string::npos;)
      TesseraCallCXX(name->replace(at, strlen(word[0]), word[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

// An error where the value is outside of its range.
static PetscErrorCode Check(PetscObject object, const Option &o, const void *value)
{
  std::string     name;
  const PetscInt *n            = (const PetscInt *)value;
  char            given[3][32] = {"", "", ""};
  bool            fits         = true;

  PetscFunctionBegin;
  if (o.kind == Kind::choice) {
    int choices = 0;
    while (o.names[choices + 2]) ++choices; // the names of the enumeration and of its prefix stand behind
    fits = *(const int *)value >= 0 && *(const int *)value < choices;
    PetscCall(NameOf(object, o.key, &name));
    PetscCheck(fits, PetscObjectComm(object), PETSC_ERR_ARG_OUTOFRANGE, "%s has no choice number %d", name.c_str(),
               *(const int *)value);
  } else if (o.kind == Kind::real) {
    fits = Within(o, *(const PetscReal *)value);
    PetscCall(PetscSNPrintf(given[0], sizeof(given[0]), "%g", (double)*(const PetscReal *)value));
  } else if (const int count = Numbers(o)) {
    for (int k = 0; k < count; ++k) {
      fits = fits && Within(o, (PetscReal)n[k]);
      PetscCall(PetscSNPrintf(given[k], sizeof(given[k]), "%" PetscInt_FMT, n[k]));
    }
    if (count > 1) fits = fits || std::all_of(n, n + count, [](PetscInt k) { return !k; });
  }
  if (fits) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(NameOf(object, o.outside, &name));
  SETERRQ(PetscObjectComm(object), PETSC_ERR_ARG_OUTOFRANGE, name.c_str(), given[0], given[1], given[2]);
}

static PetscErrorCode Store(PetscObject object, const Option &o, void *options, const void *value, bool *changed)
{
  void *const member = o.member(options);

  PetscFunctionBegin;
  *changed = true; // the same file may have other contents
  if (o.kind == Kind::text) {
    TesseraCallCXX(*(std::string *)member = (const char *)value);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Check(object, o, value));
  const size_t size = o.kind == Kind::real    ? sizeof(PetscReal)
                    : o.kind == Kind::boolean ? sizeof(PetscBool)
                    : o.kind == Kind::choice  ? sizeof(PetscEnum)
                                              : (size_t)Numbers(o) * sizeof(PetscInt);
  *changed          = memcmp(member, value, size) != 0;
  memcpy(member, value, size);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// PETSc reads as many numbers as are wanted and drops the others: how many there are.
static PetscErrorCode CheckCount(CompatOptionItems items, PetscObject object, const Option &o, const char *key)
{
  PetscInt  numbers[64], n = 64;
  PetscBool set;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetIntArray(items->options, items->prefix, key, numbers, &n, &set));
  PetscCheck(n == 2 || n == Numbers(o), PetscObjectComm(object), PETSC_ERR_ARG_SIZ,
             "%s takes two %s: %" PetscInt_FMT " given", key, o.two, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Parse(CompatOptionItems PetscOptionsObject, PetscObject object, const Option &o, void *options,
                            bool *changed)
{
  union
  {
    PetscInt  integer, numbers[3];
    PetscReal real;
    PetscBool boolean;
    PetscEnum choice;
    char      text[PETSC_MAX_PATH_LEN];
  } value;
  const void *const now = o.member(options);
  PetscBool         set = PETSC_FALSE;
  PetscInt          count = Numbers(o);
  std::string       key_name, setter_name;

  PetscFunctionBegin;
  PetscCall(NameOf(object, o.key, &key_name));
  PetscCall(NameOf(object, o.setter, &setter_name));
  const char *const key = key_name.c_str(), *const setter = setter_name.c_str();
  switch (o.kind) {
  case Kind::integer:
    PetscCall(PetscOptionsInt(key, o.help, setter, *(const PetscInt *)now, &value.integer, &set));
    break;
  case Kind::real:
    PetscCall(PetscOptionsReal(key, o.help, setter, *(const PetscReal *)now, &value.real, &set));
    break;
  case Kind::boolean:
    PetscCall(PetscOptionsBool(key, o.help, setter, *(const PetscBool *)now, &value.boolean, &set));
    break;
  case Kind::choice:
    memcpy(&value.choice, now, sizeof(value.choice));
    PetscCall(PetscOptionsEnum(key, o.help, setter, o.names, value.choice, &value.choice, &set));
    break;
  case Kind::pair:
  case Kind::sizes:
    memcpy(value.numbers, now, (size_t)count * sizeof(PetscInt));
    PetscCall(PetscOptionsIntArray(key, o.help, setter, value.numbers, &count, &set));
    if (set) PetscCall(CheckCount(PetscOptionsObject, object, o, key));
    if (set && count < Numbers(o)) value.numbers[2] = value.numbers[0] || value.numbers[1];
    break;
  case Kind::text:
    PetscCall(PetscOptionsString(key, o.help, setter, ((const std::string *)now)->c_str(), value.text,
                                 sizeof(value.text), &set));
  }
  *changed = false;
  if (set) PetscCall(Store(object, o, options, &value, changed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ParseOptions(CompatOptionItems PetscOptionsObject, PetscObject object, const OptionTable &table,
                            void *options, bool *changed)
{
  PetscFunctionBegin;
  *changed = false;
  for (const Option &o : table) {
    bool this_one;
    PetscCall(Parse(PetscOptionsObject, object, o, options, &this_one));
    *changed = *changed || this_one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ComposeOptions(PetscObject object, const OptionTable &table, bool compose)
{
  std::string name;

  PetscFunctionBegin;
  for (const Option &o : table) {
    PetscCall(NameOf(object, o.setter, &name));
    TesseraCallCXX(name += "_C");
    PetscCall(PetscObjectComposeFunction(object, name.c_str(), compose ? o.set : nullptr));
    name[name.find("Set")] = 'G';
    PetscCall(PetscObjectComposeFunction(object, name.c_str(), compose ? o.get : nullptr));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode SetOption(PetscObject object, const OptionTable &table, ComposedFunction set, void *options,
                         const void *value, bool *changed)
{
  PetscFunctionBegin;
  *changed = false;
  for (const Option &o : table)
    if (o.set == set) {
      PetscCall(Store(object, o, options, value, changed));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_PLIB, "the setter is of no row of the table");
}

} // namespace tessera
