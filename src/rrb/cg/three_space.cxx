// The beginning and the end of an iteration on the black nodes of a grid of three dimensions.
#include "rrb/cg/three_space.hpp"

namespace tessera {

// f(the values of v in the grid's distribution)
template <class F> PetscErrorCode ThreeSpace::Read(Vec v, const F &f)
{
  Vec from = v, to;

  PetscFunctionBegin;
  if (three_.matrix.moved()) PetscCall(three_.matrix.Bring(v, &from, &to));
  PetscCall(three_.x.Read(from, three_.exec.space));
  f(three_.x.data());
  PetscCall(three_.x.Restore());
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ThreeSpace::Start(double *first)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(ksp_->pc, &A, nullptr));
  PetscCall(null_.Clean(ksp_->pc, ksp_->vec_rhs, &right_));
  if (!ksp_->guess_zero) {
    PetscCall(KSP_MatMult(ksp_, A, ksp_->vec_sol, Source()));
    PetscCall(VecAYPX(Source(), -1.0, right_));
  }
  PetscCall(FirstNorm(ksp_, Source(), ksp_->work && ksp_->nwork > 1 ? ksp_->work[1] : nullptr, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool ThreeSpace::Unwatched() const
{
  const auto usual = ksp_->normtype == KSP_NORM_NONE ? KSPConvergedSkip : KSPConvergedDefault;
  return at_once_ && !ksp_->numbermonitors && ksp_->converged == usual;
}

// Beyond what is needed an iteration takes all its time, so as many as both of the last two solves took; without a test
// all of them.
int ThreeSpace::Ahead() const
{
  const KSP_RRB &k    = *(const KSP_RRB *)ksp_->data;
  const PetscInt left = PetscMin(ksp_->max_it - ksp_->its, (PetscInt)rrb::three::Reduced::most_ahead);
  if (!Unwatched()) return 1;
  const PetscInt known = ksp_->normtype == KSP_NORM_NONE ? left : PetscMin(k.before[0], k.before[1]) - ksp_->its;
  return (int)PetscMax(PetscMin(known, left), 1);
}

PetscErrorCode ThreeSpace::Begin()
{
  PetscFunctionBegin;
  const double tolerance = Unwatched() && ksp_->normtype == KSP_NORM_UNPRECONDITIONED ? ksp_->ttol : 0;
  begun_ = true;
  PetscCall(Read(Source(), [&](const double *b) { reduced_.begin(b, tolerance); }));
  // The null space of the Schur complement is A's on the black nodes.
  PetscCall(null_.ForVectors(ksp_->pc, [&](Vec from) {
    PetscFunctionBegin;
    if (from) PetscCall(Read(from, [&](const double *v) { reduced_.add_null(v); }));
    else reduced_.add_null(nullptr);
    PetscFunctionReturn(PETSC_SUCCESS);
  }));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ThreeSpace::Update(Vec dx)
{
  Vec from = Source(), to = dx;

  PetscFunctionBegin;
  if (three_.matrix.moved()) PetscCall(three_.matrix.Bring(Source(), &from, &to));
  PetscCall(three_.x.Read(from, three_.exec.space));
  PetscCall(three_.y.Write(to, three_.exec.space));
  reduced_.solution(three_.x.data(), three_.y.data());
  PetscCall(three_.y.Restore());
  PetscCall(three_.x.Restore());
  if (three_.matrix.moved()) PetscCall(three_.matrix.TakeBack(dx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ThreeSpace::Finish()
{
  KSP_RRB     *k  = (KSP_RRB *)ksp_->data;
  Vec          dx = ksp_->guess_zero ? ksp_->vec_sol : ksp_->work[1];

  PetscFunctionBegin;
  k->before[1] = k->before[0], k->before[0] = ksp_->reason > 0 ? ksp_->its : 0;
  if (!begun_) {
    if (ksp_->guess_zero) PetscCall(VecSet(ksp_->vec_sol, 0));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Update(dx));
  PetscCall(null_.RemoveAttached(ksp_->pc, dx)); // as KSPCG, whose directions have none of it
  if (!ksp_->guess_zero) PetscCall(VecAXPY(ksp_->vec_sol, 1.0, dx));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode ThreeSpace::Solution(Vec v)
{
  PetscFunctionBegin;
  if (!begun_) {
    if (ksp_->guess_zero) PetscCall(VecSet(v, 0));
    else PetscCall(VecCopy(ksp_->vec_sol, v));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(Update(v));
  if (!ksp_->guess_zero) PetscCall(VecAXPY(v, 1.0, ksp_->vec_sol));
  PetscFunctionReturn(PETSC_SUCCESS);
}

} // namespace tessera
