! SPDX-License-Identifier: BSD-3-Clause
! Persistent collectives from Fortran: bcast, allreduce and alltoallv, started by startall and start, completed by waitall,
! testany and wait. It is compiled three times: with WITH_MPIFH for mpif.h, with WITH_MPI for "use mpi", and with WITH_F08 for
! "use mpi_f08". With WITH_PREFIX the persistent collectives have the names of Open MPI 4.1, which begin with mpix_.
#ifdef WITH_PREFIX
#define mpi_bcast_init mpix_bcast_init
#define mpi_allreduce_init mpix_allreduce_init
#define mpi_alltoallv_init mpix_alltoallv_init
#endif
#ifdef WITH_F08
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
program persistent
#if defined(WITH_F08)
	use mpi_f08
#ifdef WITH_PREFIX
	use mpi_f08_ext
#endif
	implicit none
#elif defined(WITH_MPI)
	use mpi
#ifdef WITH_PREFIX
	use mpi_ext
#endif
	implicit none
#else
	implicit none
	include 'mpif.h'
#ifdef WITH_PREFIX
	include 'mpif-ext.h'
#endif
#endif
	integer, parameter :: n = 100, starts = 5
	integer :: ierr, rank, ranks, s, i, r, which, done
	logical :: flag
	integer, asynchronous :: data(n), in(n), out(n)
	integer, allocatable, asynchronous :: from(:), to(:)
	integer, allocatable :: counts(:), displs(:), rcounts(:), rdispls(:)
	HANDLE(MPI_Request) :: requests(3)
#ifdef WITH_F08
	type(MPI_Status) :: statuses(3), status
#else
	integer :: statuses(MPI_STATUS_SIZE, 3), status(MPI_STATUS_SIZE)
#endif

	call mpi_init(ierr)
	call mpi_comm_rank(MPI_COMM_WORLD, rank, ierr)
	call mpi_comm_size(MPI_COMM_WORLD, ranks, ierr)
	allocate (counts(ranks), displs(ranks), rcounts(ranks), rdispls(ranks))
	! Rank r sends r + d + 1 elements to rank d.
	do r = 1, ranks
		counts(r) = rank + r
		rcounts(r) = r + rank
	end do
	displs(1) = 0
	rdispls(1) = 0
	do r = 2, ranks
		displs(r) = displs(r - 1) + counts(r - 1) + 1
		rdispls(r) = rdispls(r - 1) + rcounts(r - 1)
	end do
	allocate (from(displs(ranks) + counts(ranks) + 1), to(rdispls(ranks) + rcounts(ranks)))
	call mpi_bcast_init(data, n, MPI_INTEGER, ranks - 1, MPI_COMM_WORLD, MPI_INFO_NULL, requests(1), ierr)
	call mpi_allreduce_init(in, out, n, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, requests(2), ierr)
	call mpi_alltoallv_init(from, counts, displs, MPI_INTEGER, to, rcounts, rdispls, MPI_INTEGER, MPI_COMM_WORLD, &
		MPI_INFO_NULL, requests(3), ierr)
	do s = 1, starts
		call fill()
		if (mod(s, 2) == 0) then
			call mpi_startall(3, requests, ierr)
		else
			do i = 1, 3
				call mpi_start(requests(i), ierr)
			end do
		end if
		if (mod(s, 3) == 0) then
			call mpi_waitall(3, requests, statuses, ierr)
		else if (mod(s, 3) == 1) then
			done = 0
			do while (done < 3)
				call mpi_testany(3, requests, which, flag, status, ierr)
				if (flag) then
					if (which < 1 .or. which > 3) call fail('testany gives a wrong index')
					done = done + 1
				end if
			end do
			call mpi_testany(3, requests, which, flag, status, ierr)
			if (.not. flag .or. which /= MPI_UNDEFINED) call fail('testany of inactive requests')
		else
			do i = 3, 1, -1
				call mpi_wait(requests(i), MPI_STATUS_IGNORE, ierr)
			end do
		end if
		call check()
	end do
	call mpi_waitall(3, requests, MPI_STATUSES_IGNORE, ierr)
	do i = 1, 3
		call mpi_request_free(requests(i), ierr)
		if (requests(i) /= MPI_REQUEST_NULL) call fail('request_free leaves a handle')
	end do
	call mpi_barrier(MPI_COMM_WORLD, ierr)
	if (rank == 0) print '(a)', 'fortran: right'
	call mpi_finalize(ierr)

contains
	subroutine fail(what)
		character(*), intent(in) :: what
		integer :: e

		print '(a, i0, a, i0, 2a)', 'fortran: rank ', rank, ', start ', s, ': ', what
		call mpi_abort(MPI_COMM_WORLD, 1, e)
	end subroutine

	subroutine fill()
		integer :: d, k

		data = -1
		if (rank == ranks - 1) data = [(1000 * s + k, k = 1, n)]
		in = [(s * k + rank, k = 1, n)]
		out = -1
		from = -1
		to = -1
		do d = 1, ranks
			do k = 1, counts(d)
				from(displs(d) + k) = 10000 * s + 100 * rank + 10 * (d - 1) + k
			end do
		end do
	end subroutine

	subroutine check()
		integer :: d, k

		do k = 1, n
			if (data(k) /= 1000 * s + k) call fail('bcast is wrong')
			if (out(k) /= ranks * s * k + ranks * (ranks - 1) / 2) call fail('allreduce is wrong')
		end do
		do d = 1, ranks
			do k = 1, rcounts(d)
				if (to(rdispls(d) + k) /= 10000 * s + 100 * (d - 1) + 10 * rank + k) call fail('alltoallv is wrong')
			end do
		end do
	end subroutine
end program
