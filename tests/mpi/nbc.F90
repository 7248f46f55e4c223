! SPDX-License-Identifier: BSD-3-Clause
! Collectives that do not block, by mpi_f08, whose functions must not go past those that serve them.
program nbc
   use mpi_f08
   implicit none
   integer, parameter :: n = 10
   type(MPI_Comm) :: comm
   type(MPI_Request) :: requests(2)
   integer :: in(n), out(n), rank, ranks, s

   call MPI_Init()
   call MPI_Comm_dup(MPI_COMM_WORLD, comm)
   call MPI_Comm_rank(comm, rank)
   call MPI_Comm_size(comm, ranks)
   call MPI_Allreduce(rank, s, 1, MPI_INTEGER, MPI_SUM, comm)
   do s = 1, 20
      in = s + rank
      call MPI_Iallreduce(in, out, n, MPI_INTEGER, MPI_SUM, comm, requests(1))
      call MPI_Ibarrier(comm, requests(2))
      call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE)
      if (any(out /= ranks * s + ranks * (ranks - 1) / 2)) call MPI_Abort(comm, 1)
      if (requests(1) /= MPI_REQUEST_NULL .or. requests(2) /= MPI_REQUEST_NULL) call MPI_Abort(comm, 2)
   end do
   call MPI_Comm_free(comm)
   if (rank == 0) print '(A)', 'nbc: 20 calls right'
   call MPI_Finalize()
end program
