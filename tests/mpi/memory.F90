! SPDX-License-Identifier: BSD-3-Clause
! MPI_Alloc_mem from Fortran: the memory is of the shared heap, and a persistent broadcast uses it.
program memory
   use iso_c_binding
#ifdef WITH_F08
   use mpi_f08
#elif defined WITH_MPI
   use mpi
#endif
   implicit none
#ifdef WITH_MPIFH
   include 'mpif.h'
#endif
#ifdef WITH_F08
   type(MPI_Request) :: request
#else
   integer :: request
#endif
   integer, parameter :: n = 1000
   type(c_ptr) :: p
   integer, pointer :: a(:)
   integer :: rank, ierr, s

   call MPI_Init(ierr)
   call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
   call MPI_Alloc_mem(4_MPI_ADDRESS_KIND * n, MPI_INFO_NULL, p, ierr)
   call c_f_pointer(p, a, [n])
   if (.not. shared(transfer(p, 0_c_int64_t))) call wrong('memory')
   call MPI_Bcast_init(a, n, MPI_INTEGER, 0, MPI_COMM_WORLD, MPI_INFO_NULL, request, ierr)
   do s = 1, 3
      a = merge(s, -1, rank == 0)
      call MPI_Start(request, ierr)
      call MPI_Wait(request, MPI_STATUS_IGNORE, ierr)
      if (any(a /= s)) call wrong('bcast')
   end do
   call MPI_Request_free(request, ierr)
   call MPI_Free_mem(a, ierr)
   call MPI_Barrier(MPI_COMM_WORLD, ierr)
   if (rank == 0) print '(A)', 'memory: right'
   call MPI_Finalize(ierr)

contains

   subroutine wrong(what)
      character(*), intent(in) :: what

      print '(2A)', 'memory: wrong: ', what
      call MPI_Abort(MPI_COMM_WORLD, 1, ierr)
   end subroutine

   logical function shared(address)
      integer(c_int64_t), intent(in) :: address
      integer(c_int64_t) :: from, to
      character(400) :: line
      integer :: unit, err, dash, space

      shared = .false.
      open (newunit=unit, file='/proc/self/maps', action='read')
      do
         read (unit, '(A)', iostat=err) line
         if (err /= 0) exit
         dash = index(line, '-')
         space = index(line, ' ')
         if (space > 17 * 2) cycle ! addresses of the kernel
         read (line(:dash - 1), '(Z16)', iostat=err) from
         read (line(dash + 1:space - 1), '(Z16)', iostat=err) to
         if (err == 0 .and. address >= from .and. address < to) shared = index(line, 'goal-heap') > 0
      end do
      close (unit)
   end function
end program
