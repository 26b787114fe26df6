! SPDX-License-Identifier: MIT
! The same of Fortran: arrays of two dimensions, of unknown size, allocatable.
subroutine scale(n, a, b)
  integer, intent(in) :: n
  real(8), intent(inout) :: a(n, n), b(:)
  integer :: i, j
  common /shared/ k(10)
  do i = 1, n
    do j = 1, n
      a(i, j) = a(j, i) * b(i) + k(1)
    end do
  end do
end subroutine
