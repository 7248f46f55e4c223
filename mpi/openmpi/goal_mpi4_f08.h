! SPDX-License-Identifier: BSD-3-Clause
! MPI-4's names of persistent collectives for Open MPI 4.1, in programs with "use mpi_f08": include this after that line.
use mpi_f08_ext, only: &
	MPI_Barrier_init => MPIX_Barrier_init, &
	MPI_Bcast_init => MPIX_Bcast_init, &
	MPI_Gather_init => MPIX_Gather_init, &
	MPI_Gatherv_init => MPIX_Gatherv_init, &
	MPI_Scatter_init => MPIX_Scatter_init, &
	MPI_Scatterv_init => MPIX_Scatterv_init, &
	MPI_Allgather_init => MPIX_Allgather_init, &
	MPI_Allgatherv_init => MPIX_Allgatherv_init, &
	MPI_Alltoall_init => MPIX_Alltoall_init, &
	MPI_Alltoallv_init => MPIX_Alltoallv_init, &
	MPI_Alltoallw_init => MPIX_Alltoallw_init, &
	MPI_Reduce_init => MPIX_Reduce_init, &
	MPI_Allreduce_init => MPIX_Allreduce_init, &
	MPI_Reduce_scatter_init => MPIX_Reduce_scatter_init, &
	MPI_Reduce_scatter_block_init => MPIX_Reduce_scatter_block_init, &
	MPI_Scan_init => MPIX_Scan_init, &
	MPI_Exscan_init => MPIX_Exscan_init, &
	MPI_Neighbor_allgather_init => MPIX_Neighbor_allgather_init, &
	MPI_Neighbor_allgatherv_init => MPIX_Neighbor_allgatherv_init, &
	MPI_Neighbor_alltoall_init => MPIX_Neighbor_alltoall_init, &
	MPI_Neighbor_alltoallv_init => MPIX_Neighbor_alltoallv_init, &
	MPI_Neighbor_alltoallw_init => MPIX_Neighbor_alltoallw_init
