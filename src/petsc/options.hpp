// The options of a type as a table, one a row:
//
//   static const Option rows[] = {
//     Option::Int<&O::levels>("-pc_x_levels", "PCXSetLevels", "Grids at most (0 for all)", 0, PETSC_INFINITY,
//                             "PC x: grids (-pc_x_levels) must be 0 (all) or more, it is %s"),
//     Option::Enum<&O::cycle>("-pc_x_cycle", "PCXSetCycle", "How coarse grids are visited", PCXCycles),
//     Option::Bool<&O::peers>("-pc_x_peers", "PCXSetPeers", "Devices write into each other's memory"),
//   };
//   const OptionTable XOptions::table(rows);
//
// A row is what PetscOptionsInt() and its kin are told, with the member that holds the value; of a number also its
// range and the message where it is outside. By the table options are parsed, values checked, and setters and getters
// composed. O is the structure of a type's options: its members have their defaults, and it declares
//
//   using Object = PC;                     // or SNES, KSP; PetscObject where a SNES and a Tao have the same options
//   static O &Of(Object);                  // where an object has its options
//   static PetscErrorCode Changed(Object); // what a setter does after a change
//   static const OptionTable table;
//
// A Tao that has the options of a SNES has them by its own names: -tao_x_levels, TaoXSetLevels().
#pragma once
#include "petsc/compat.h"
#include <petsctao.h>
#include <string>

namespace tessera {

struct OptionTable;
using ComposedFunction = void (*)();

// Between PetscOptionsHeadBegin() and PetscOptionsHeadEnd(): what the user's options say. *changed: a value is another
// one than before.
PetscErrorCode ParseOptions(CompatOptionItems, PetscObject, const OptionTable &, void *options, bool *changed);
// Composes all setters and getters, or takes them away.
PetscErrorCode ComposeOptions(PetscObject, const OptionTable &, bool compose);
// Sets the option that has this setter, after a check.
PetscErrorCode SetOption(PetscObject, const OptionTable &, ComposedFunction set, void *options, const void *value,
                         bool *changed);

// The same for an object whose options are of the structure O. What was stored before a wrong option counts.
template <class O> PetscErrorCode ParseOptions(CompatOptionItems PetscOptionsObject, typename O::Object object)
{
  bool changed;

  PetscFunctionBegin;
  const PetscErrorCode ierr =
    ParseOptions(PetscOptionsObject, (PetscObject)object, O::table, &O::Of(object), &changed);
  if (changed) PetscCall(O::Changed(object));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

// The composed functions for a member of O. Two numbers and texts are given and returned in their own way.
template <class O> PetscErrorCode SetMember(typename O::Object object, ComposedFunction set, const void *value)
{
  bool changed;

  PetscFunctionBegin;
  PetscCall(SetOption((PetscObject)object, O::table, set, &O::Of(object), value, &changed));
  if (changed) PetscCall(O::Changed(object));
  PetscFunctionReturn(PETSC_SUCCESS);
}
template <class O, class T, T O::*member> struct Accessors {
  using Object = typename O::Object;
  static PetscErrorCode Set(Object object, T value) { return SetMember<O>(object, (ComposedFunction)Set, &value); }
  static PetscErrorCode Get(Object object, T *value)
  {
    *value = O::Of(object).*member;
    return PETSC_SUCCESS;
  }
};
template <class O, PetscInt (O::*member)[2]> struct Accessors<O, PetscInt[2], member> {
  using Object = typename O::Object;
  static PetscErrorCode Set(Object object, PetscInt a, PetscInt b)
  {
    const PetscInt two[] = {a, b};
    return SetMember<O>(object, (ComposedFunction)Set, two);
  }
  static PetscErrorCode Get(Object object, PetscInt *a, PetscInt *b)
  {
    if (a) *a = (O::Of(object).*member)[0];
    if (b) *b = (O::Of(object).*member)[1];
    return PETSC_SUCCESS;
  }
};
template <class O, PetscInt (O::*member)[3]> struct Accessors<O, PetscInt[3], member> {
  using Object = typename O::Object;
  static PetscErrorCode Set(Object object, PetscInt a, PetscInt b, PetscInt c)
  {
    const PetscInt three[] = {a, b, c};
    return SetMember<O>(object, (ComposedFunction)Set, three);
  }
  static PetscErrorCode Get(Object object, PetscInt *a, PetscInt *b, PetscInt *c)
  {
    PetscInt *const to[] = {a, b, c};
    for (int k = 0; k < 3; ++k)
      if (to[k]) *to[k] = (O::Of(object).*member)[k];
    return PETSC_SUCCESS;
  }
};
template <class O, std::string O::*member> struct Accessors<O, std::string, member> {
  using Object = typename O::Object;
  static PetscErrorCode Set(Object object, const char *text)
  {
    return SetMember<O>(object, (ComposedFunction)Set, text ? text : "");
  }
  static PetscErrorCode Get(Object object, const char **text)
  {
    *text = (O::Of(object).*member).c_str();
    return PETSC_SUCCESS;
  }
};

struct Option {
  enum class Kind {
    integer,
    real,
    boolean,
    choice,
    pair,
    sizes,
    text
  };
  Kind        kind;
  const char *key, *setter, *help; // the getter's name has Get for Set
  void *(*member)(void *options);
  ComposedFunction   set, get;
  PetscReal          min = 0, max = 0;
  const char        *outside = nullptr; // the message, with %s for the value, or for each of several
  bool               between = false;   // least and most are excluded
  const char *const *names   = nullptr; // of an enumeration, as PetscOptionsEnum() takes them
  const char        *two     = nullptr; // what the numbers of a pair, or of sizes, are called

  template <auto member> static Option Int(const char *key, const char *setter, const char *help, PetscReal min,
                                           PetscReal max, const char *outside)
  {
    return Row<member, PetscInt>(Kind::integer, key, setter, help, min, max, outside);
  }
  template <auto member> static Option Real(const char *key, const char *setter, const char *help, PetscReal min,
                                            PetscReal max, const char *outside)
  {
    return Row<member, PetscReal>(Kind::real, key, setter, help, min, max, outside);
  }
  // Both ends are excluded.
  template <auto member> static Option RealBetween(const char *key, const char *setter, const char *help, PetscReal min,
                                                   PetscReal max, const char *outside)
  {
    Option row  = Real<member>(key, setter, help, min, max, outside);
    row.between = true;
    return row;
  }
  template <auto member> static Option Bool(const char *key, const char *setter, const char *help)
  {
    return Row<member, PetscBool>(Kind::boolean, key, setter, help);
  }
  template <auto member>
  static Option Enum(const char *key, const char *setter, const char *help, const char *const *names)
  {
    Option row = Row<member>(Kind::choice, key, setter, help);
    row.names  = names;
    return row;
  }
  // Two numbers, both of the range or both 0
  template <auto member> static Option Pair(const char *key, const char *setter, const char *help, const char *two,
                                            PetscReal min, PetscReal max, const char *outside)
  {
    Option row = Row<member, PetscInt[2]>(Kind::pair, key, setter, help, min, max, outside);
    row.two    = two;
    return row;
  }
  // The sizes of a grid in two or three directions, all of the range or all 0. The third is 1 where it is not given.
  template <auto member> static Option Sizes(const char *key, const char *setter, const char *help, const char *names,
                                             PetscReal min, PetscReal max, const char *outside)
  {
    Option row = Row<member, PetscInt[3]>(Kind::sizes, key, setter, help, min, max, outside);
    row.two    = names;
    return row;
  }
  template <auto member> static Option Text(const char *key, const char *setter, const char *help)
  {
    return Row<member, std::string>(Kind::text, key, setter, help);
  }

private:
  template <auto member, class Wanted = void> static Option Row(Kind kind, const char *key, const char *setter,
                                                                const char *help, PetscReal min = 0, PetscReal max = 0,
                                                                const char *outside = nullptr)
  {
    return Row<member, Wanted>(member, kind, key, setter, help, min, max, outside);
  }
  template <auto member, class Wanted, class O, class T>
  static Option Row(T O::*, Kind kind, const char *key, const char *setter, const char *help, PetscReal min,
                    PetscReal max, const char *outside)
  {
    static_assert(std::is_same_v<T, Wanted> || (std::is_void_v<Wanted> && sizeof(T) == sizeof(PetscEnum)),
                  "a row of another kind than the member");
    return {kind,
            key,
            setter,
            help,
            [](void *options) -> void * { return &(((O *)options)->*member); },
            (ComposedFunction)Accessors<O, T, member>::Set,
            (ComposedFunction)Accessors<O, T, member>::Get,
            min,
            max,
            outside};
  }
};

struct OptionTable {
  const Option *rows;
  size_t        count;
  template <size_t n> explicit constexpr OptionTable(const Option (&r)[n]) : rows(r), count(n) { }
  const Option *begin() const { return rows; }
  const Option *end() const { return rows + count; }
};

inline PetscClassId ClassOf(PC) { return PC_CLASSID; }
inline PetscClassId ClassOf(KSP) { return KSP_CLASSID; }
inline PetscClassId ClassOf(SNES) { return SNES_CLASSID; }
inline PetscClassId ClassOf(Tao) { return TAO_CLASSID; }

// The bodies of public functions that set or get one value of an object. As PETSc's they check their parameters and
// call what the object's type has composed under the name. kind: Int, Real, Bool or Enum, as in
// PetscValidLogicalCollectiveInt().
#define TesseraSetValue(object, name, kind, value) \
  PetscFunctionBegin; \
  PetscValidHeaderSpecific(object, tessera::ClassOf(object), 1); \
  PetscValidLogicalCollective##kind(object, value, 2); \
  PetscTryMethod(object, name, (decltype(object), decltype(value)), (object, value)); \
  PetscFunctionReturn(PETSC_SUCCESS)
#define TesseraGetValue(object, name, value) \
  PetscFunctionBegin; \
  PetscValidHeaderSpecific(object, tessera::ClassOf(object), 1); \
  PetscAssertPointer(value, 2); \
  PetscUseMethod(object, name, (decltype(object), decltype(value)), (object, value)); \
  PetscFunctionReturn(PETSC_SUCCESS)

} // namespace tessera
